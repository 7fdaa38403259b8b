/* SPDX-License-Identifier: Apache-2.0
 * starve.c - for LD_PRELOAD: one call of a kind that a process makes fails.
 *
 *   DX_STARVE=alloc:ENOMEM:17        the 17th allocation fails, once
 *   DX_STARVE=write:ENOSPC:3+        the third write and all later ones
 *   DX_STARVE=read:short:2           the second read gives half of what was asked for
 *   DX_STARVE=open:EIO:@1f2e         the first open with the call chain of this hash; with + all later opens, too
 *   DX_STARVE_CONTROL=FILE           mapped while the process lives: another process reads there how often each kind was called and by
 *                                    which call chains, and says which call fails (tests/support/starve.py)
 *
 * Kinds are those of `kinds` below; errors are those of `errors`, and short for reads and writes. Calls are counted over all
 * threads, from the end of the dynamic linker's work on. What libc calls inside of itself is counted for allocations only:
 * of streams fopen, fread, fflush and fclose can fail, not each write below them.
 *
 * A call chain is a kind and the innermost DEPTH return addresses in the program's own code, as offsets from where it is loaded: a hash
 * names the same chain in each process of one build. Where a library made the call, its return address comes before them.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>
#include <unwind.h>

enum kind {
    ALLOC,
    READ,
    WRITE,
    SYNC,
    RENAME,
    OPEN,
    MAP,
    CONNECT,
    SIZE,
    MAKE_DIR,
    REMOVE,
    LOCK,
    STAT,
    STREAM,
    SEND,
    RECEIVE,
    KINDS
};

static const char *const kinds[KINDS] = { "alloc", "read",    "write", "sync",   "rename", "open",
                                          "map",   "connect", "size",  "mkdir",  "remove", "lock",
                                          "stat",  "stream",  "send",  "receive" };

static const struct {
    const char *name;
    int number;
} errors[] = { { "ENOMEM", ENOMEM },
               { "ENOSPC", ENOSPC },
               { "EIO", EIO },
               { "EMFILE", EMFILE },
               { "EINTR", EINTR },
               { "EFBIG", EFBIG },
               { "short", 0 },
               { "ECONNREFUSED", ECONNREFUSED },
               { "ECONNRESET", ECONNRESET } };

#define DEPTH 10        /* return addresses of a chain */
#define CHAINS 16384    /* of a process, a power of two; publish has some 900 */
#define PROGRAMS 4      /* that follow each other by exec */
#define MODULES 64      /* the program, which is the first, and its libraries */
#define MODULE_SHIFT 48 /* of a frame: the number of its module is above, the offset below */

struct chain {
    uint64_t hash;
    uint64_t kind;
    uint64_t program;
    uint64_t count; /* of frames */
    uint64_t frames[DEPTH + 1];
};

/* tests/support/starve.py reads and writes it, kind last. */
struct control {
    atomic_uint kind; /* that fails; KINDS: none */
    int error;
    uint64_t call;
    uint64_t for_ever;
    uint64_t hash;                /* of the chain that fails; 0: `call` says which call */
    atomic_uint_fast64_t hit;     /* a call has failed */
    atomic_uint_fast64_t records; /* whether chains are recorded */
    atomic_uint_fast64_t program_count;
    atomic_uint_fast64_t chain_count;
    char programs[PROGRAMS][256];
    atomic_uint_fast64_t calls[KINDS];
    atomic_uint_fast64_t slots[CHAINS]; /* hashes that were seen */
    struct chain chains[CHAINS];
};

static struct control own = { .kind = KINDS };
static struct control *control = &own;
static atomic_bool armed;

static struct {
    uintptr_t begin, end;
} modules[MODULES];
static int module_count;
static uint64_t own_module; /* this library */
static uint64_t program;

/* glibc gives its allocator under these names to those who stand in front of it. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static void parse(const char *text)
{
    for (int k = 0; k < KINDS; k++) {
        size_t n = strlen(kinds[k]);

        if (strncmp(text, kinds[k], n) != 0 || text[n] != ':')
            continue;
        text += n + 1;
        for (size_t e = 0; e < sizeof errors / sizeof *errors; e++) {
            char *end;

            n = strlen(errors[e].name);
            if (strncmp(text, errors[e].name, n) != 0 || text[n] != ':')
                continue;
            text += n + 1;
            if (*text == '@')
                control->hash = strtoull(text + 1, &end, 16);
            else
                control->call = strtoull(text, &end, 10);
            control->for_ever = *end == '+';
            control->error = errors[e].number;
            control->kind = (unsigned)k;
            return;
        }
    }
    (void)!write(2, "starve: bad DX_STARVE\n", 22);
    _exit(99);
}

/* Where it crashed: libraries of others have defects too (starve.py lists those that are known). */
static void crashed(int number)
{
    void *frames[16];

    atomic_store(&armed, false);
    backtrace_symbols_fd(frames, backtrace(frames, 16), 2);
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

static int add_module(struct dl_phdr_info *info, size_t size, void *context)
{
    uintptr_t end = 0;

    (void)size;
    (void)context;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];

        if (part->p_type == PT_LOAD && part->p_vaddr + part->p_memsz > end)
            end = part->p_vaddr + part->p_memsz;
    }
    if ((uintptr_t)&own_module - info->dlpi_addr < end)
        own_module = (uint64_t)module_count;
    modules[module_count].begin = info->dlpi_addr;
    modules[module_count].end = info->dlpi_addr + end;
    return ++module_count == MODULES;
}

__attribute__((constructor)) static void begin(void)
{
    const char *text = getenv("DX_STARVE_CONTROL");
    void *frame;

    (void)backtrace(&frame, 1); /* the first call allocates */
    (void)dl_iterate_phdr(add_module, NULL);
    (void)signal(SIGSEGV, crashed);
    (void)signal(SIGABRT, crashed);
    (void)signal(SIGFPE, crashed); /* a hash without slots */

    if (text != NULL) {
        int fd = open(text, O_RDWR);
        void *at = mmap(NULL, sizeof own, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

        if (at == MAP_FAILED)
            _exit(99);
        (void)close(fd);
        control = at;
    }
    program = atomic_fetch_add(&control->program_count, 1) % PROGRAMS;
    (void)!readlink("/proc/self/exe", control->programs[program], sizeof *control->programs - 1);
    text = getenv("DX_STARVE");
    if (text != NULL && text[0] != '\0' && program == 0)
        parse(text);
    atomic_store(&armed, true);
}

/* ---- chains ---- */

static _Unwind_Reason_Code add_frame(struct _Unwind_Context *context, void *to)
{
    struct chain *chain = to;
    uintptr_t at = _Unwind_GetIP(context);
    uint64_t module = 0;

    while (module < (uint64_t)module_count &&
           (at < modules[module].begin || at >= modules[module].end))
        module++;
    if (module == (uint64_t)module_count || module == own_module)
        return _URC_NO_REASON;
    /* Of libraries the one that made the call. */
    if (module != 0 && chain->count != 0)
        return _URC_NO_REASON;
    chain->frames[chain->count++] = module << MODULE_SHIFT | (at - modules[module].begin);
    return chain->count - (chain->frames[0] >> MODULE_SHIFT != 0) == DEPTH ? _URC_END_OF_STACK
                                                                           : _URC_NO_REASON;
}

/* FNV-1a by words, and its bits mixed. */
static uint64_t hash_of(const struct chain *chain)
{
    uint64_t hash = 0xcbf29ce484222325u ^ chain->kind;

    for (uint64_t i = 0; i < chain->count; i++) {
        hash = (hash ^ chain->frames[i]) * 0x100000001b3u;
        hash ^= hash >> 32;
    }
    return hash == 0 ? 1 : hash;
}

/* What is seen for the first time; `chains` has them in that order. */
static void record(const struct chain *chain)
{
    for (uint64_t at = chain->hash; at < chain->hash + CHAINS; at++) {
        uint64_t found = 0;

        if (atomic_compare_exchange_strong(&control->slots[at % CHAINS], &found, chain->hash)) {
            control->chains[atomic_fetch_add(&control->chain_count, 1)] = *chain;
            return;
        }
        if (found == chain->hash)
            return;
    }
}

/* Whether the chain of this call is the one that fails. */
static bool is_chain(enum kind kind, bool may_fail)
{
    static __thread bool is_unwinding;
    struct chain chain = { .kind = kind, .program = program };
    bool records = atomic_load(&control->records) != 0;

    if (is_unwinding || !(records || may_fail))
        return false;
    is_unwinding = true;
    (void)_Unwind_Backtrace(add_frame, &chain);
    is_unwinding = false;
    chain.hash = hash_of(&chain);
    if (records)
        record(&chain);
    return may_fail && chain.hash == control->hash;
}

/* Whether this call is the one; errno is set then. */
static bool fails(enum kind kind)
{
    bool is_kind, was_hit, is_wanted;
    uint64_t call;

    if (!atomic_load(&armed))
        return false;
    call = atomic_fetch_add(&control->calls[kind], 1) + 1;
    is_kind = kind == atomic_load(&control->kind);
    was_hit = atomic_load(&control->hit) != 0;
    is_wanted = is_chain(kind, is_kind && control->hash != 0 && !was_hit);
    if (!is_kind)
        return false;
    if (control->hash == 0)
        is_wanted = call == control->call;
    if (is_wanted)
        is_wanted = atomic_exchange(&control->hit, 1) == 0;
    if (!is_wanted && !(control->for_ever && atomic_load(&control->hit) != 0))
        return false;
    errno = control->error;
    return true;
}

/* Of reads and writes: so many bytes, -1: it fails. */
static ssize_t granted(enum kind kind, size_t size)
{
    if (!fails(kind))
        return (ssize_t)size;
    return control->error != 0 ? -1 : (ssize_t)(size / 2 + size % 2);
}

static void *next(const char *name)
{
    void *f = dlsym(RTLD_NEXT, name);

    if (f == NULL)
        abort();
    return f;
}

/* ---- memory ---- */

void *malloc(size_t size)
{
    return fails(ALLOC) ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    return fails(ALLOC) ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
    return fails(ALLOC) ? NULL : __libc_realloc(p, size);
}

void *reallocarray(void *p, size_t n, size_t size)
{
    size_t bytes;

    if (__builtin_mul_overflow(n, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return realloc(p, bytes);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return fails(ALLOC) ? NULL : __libc_memalign(alignment, size);
}

void *memalign(size_t alignment, size_t size);

void *memalign(size_t alignment, size_t size)
{
    return aligned_alloc(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
    void *p = aligned_alloc(alignment, size);

    if (p == NULL)
        return ENOMEM;
    *out = p;
    return 0;
}

/* ---- bytes ---- */

ssize_t read(int fd, void *to, size_t size)
{
    ssize_t n = granted(READ, size);

    return n < 0 ? n : (ssize_t)syscall(SYS_read, fd, to, (size_t)n);
}

ssize_t pread(int fd, void *to, size_t size, off_t offset)
{
    ssize_t n = granted(READ, size);

    return n < 0 ? n : (ssize_t)syscall(SYS_pread64, fd, to, (size_t)n, offset);
}

ssize_t write(int fd, const void *from, size_t size)
{
    ssize_t n = granted(WRITE, size);

    return n < 0 ? n : (ssize_t)syscall(SYS_write, fd, from, (size_t)n);
}

ssize_t pwrite(int fd, const void *from, size_t size, off_t offset)
{
    ssize_t n = granted(WRITE, size);

    return n < 0 ? n : (ssize_t)syscall(SYS_pwrite64, fd, from, (size_t)n, offset);
}

/* What the compiler makes of them with -D_FORTIFY_SOURCE. */
ssize_t __read_chk(int fd, void *to, size_t size, size_t room);
ssize_t __pread_chk(int fd, void *to, size_t size, off_t offset, size_t room);
int __open_2(const char *path, int flags);
int __openat_2(int dir, const char *path, int flags);
size_t __fread_chk(void *to, size_t room, size_t size, size_t n, FILE *f);

ssize_t __read_chk(int fd, void *to, size_t size, size_t room)
{
    if (size > room)
        abort();
    return read(fd, to, size);
}

ssize_t __pread_chk(int fd, void *to, size_t size, off_t offset, size_t room)
{
    if (size > room)
        abort();
    return pread(fd, to, size, offset);
}

/* ---- files ---- */

#define CALL(kind, ...) (fails(kind) ? -1 : (int)syscall(__VA_ARGS__))

int openat(int dir, const char *path, int flags, ...)
{
    mode_t mode = 0;
    va_list arguments;

    if ((flags & (O_CREAT | O_TMPFILE)) != 0) {
        va_start(arguments, flags);
        mode = va_arg(arguments, mode_t);
        va_end(arguments);
    }
    return CALL(OPEN, SYS_openat, dir, path, flags, mode);
}

int open(const char *path, int flags, ...)
{
    mode_t mode = 0;
    va_list arguments;

    if ((flags & (O_CREAT | O_TMPFILE)) != 0) {
        va_start(arguments, flags);
        mode = va_arg(arguments, mode_t);
        va_end(arguments);
    }
    return openat(AT_FDCWD, path, flags, mode);
}

int __open_2(const char *path, int flags)
{
    return open(path, flags);
}

int __openat_2(int dir, const char *path, int flags)
{
    return openat(dir, path, flags);
}

int mkstemp(char *path)
{
    int (*real)(char *) = (int (*)(char *))next("mkstemp");

    return fails(OPEN) ? -1 : real(path);
}

DIR *opendir(const char *path)
{
    DIR *(*real)(const char *) = (DIR * (*)(const char *)) next("opendir");

    return fails(OPEN) ? NULL : real(path);
}

int fsync(int fd)
{
    return CALL(SYNC, SYS_fsync, fd);
}

int fdatasync(int fd)
{
    return CALL(SYNC, SYS_fdatasync, fd);
}

int syncfs(int fd)
{
    return CALL(SYNC, SYS_syncfs, fd);
}

int rename(const char *from, const char *to)
{
    return CALL(RENAME, SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int renameat(int a, const char *from, int b, const char *to)
{
    return CALL(RENAME, SYS_renameat2, a, from, b, to, 0);
}

int renameat2(int a, const char *from, int b, const char *to, unsigned flags)
{
    return CALL(RENAME, SYS_renameat2, a, from, b, to, flags);
}

int link(const char *from, const char *to)
{
    return CALL(RENAME, SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int linkat(int a, const char *from, int b, const char *to, int flags)
{
    return CALL(RENAME, SYS_linkat, a, from, b, to, flags);
}

int unlink(const char *path)
{
    return CALL(REMOVE, SYS_unlinkat, AT_FDCWD, path, 0);
}

int unlinkat(int dir, const char *path, int flags)
{
    return CALL(REMOVE, SYS_unlinkat, dir, path, flags);
}

int mkdir(const char *path, mode_t mode)
{
    return CALL(MAKE_DIR, SYS_mkdirat, AT_FDCWD, path, mode);
}

int ftruncate(int fd, off_t size)
{
    return CALL(SIZE, SYS_ftruncate, fd, size);
}

int fallocate(int fd, int mode, off_t offset, off_t size)
{
    return CALL(SIZE, SYS_fallocate, fd, mode, offset, size);
}

int flock(int fd, int what);

int flock(int fd, int what)
{
    return CALL(LOCK, SYS_flock, fd, what);
}

int stat(const char *path, struct stat *st)
{
    return CALL(STAT, SYS_newfstatat, AT_FDCWD, path, st, 0);
}

int lstat(const char *path, struct stat *st)
{
    return CALL(STAT, SYS_newfstatat, AT_FDCWD, path, st, AT_SYMLINK_NOFOLLOW);
}

int fstat(int fd, struct stat *st)
{
    return CALL(STAT, SYS_newfstatat, fd, "", st, AT_EMPTY_PATH);
}

int fstatat(int dir, const char *path, struct stat *st, int flags)
{
    return CALL(STAT, SYS_newfstatat, dir, path, st, flags);
}

int connect(int fd, const struct sockaddr *address, socklen_t size)
{
    return CALL(CONNECT, SYS_connect, fd, address, size);
}

ssize_t send(int fd, const void *from, size_t size, int flags)
{
    ssize_t n = granted(SEND, size);

    return n < 0 ? n : (ssize_t)syscall(SYS_sendto, fd, from, (size_t)n, flags, NULL, 0);
}

ssize_t recv(int fd, void *to, size_t size, int flags)
{
    ssize_t n = granted(RECEIVE, size);

    return n < 0 ? n : (ssize_t)syscall(SYS_recvfrom, fd, to, (size_t)n, flags, NULL, NULL);
}

ssize_t __recv_chk(int fd, void *to, size_t size, size_t room, int flags);

ssize_t __recv_chk(int fd, void *to, size_t size, size_t room, int flags)
{
    if (size > room)
        abort();
    return recv(fd, to, size, flags);
}

void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    void *(*real)(void *, size_t, int, int, int,
                  off_t) = (void *(*)(void *, size_t, int, int, int, off_t))next("mmap");

    return fails(MAP) ? MAP_FAILED : real(at, size, protection, flags, fd, offset);
}

/* ---- streams ---- */

#define ERROR_SEEN 0x20 /* _IO_ERR_SEEN of glibc: ferror() */

FILE *fopen(const char *path, const char *mode)
{
    FILE *(*real)(const char *, const char *) = (FILE * (*)(const char *, const char *))
        next("fopen");

    return fails(OPEN) ? NULL : real(path, mode);
}

size_t fread(void *to, size_t size, size_t n, FILE *f)
{
    size_t (*real)(void *, size_t, size_t,
                   FILE *) = (size_t(*)(void *, size_t, size_t, FILE *))next("fread");

    if (!fails(STREAM))
        return real(to, size, n, f);
    f->_flags |= ERROR_SEEN;
    return 0;
}

size_t __fread_chk(void *to, size_t room, size_t size, size_t n, FILE *f)
{
    if (size != 0 && n > room / size)
        abort();
    return fread(to, size, n, f);
}

int fflush(FILE *f)
{
    int (*real)(FILE *) = (int (*)(FILE *))next("fflush");

    if (!fails(STREAM))
        return real(f);
    if (f != NULL)
        f->_flags |= ERROR_SEEN;
    return EOF;
}

/* It is closed all the same, as by the system. */
int fclose(FILE *f)
{
    int (*real)(FILE *) = (int (*)(FILE *))next("fclose");
    bool is_wanted = fails(STREAM);
    int rc = real(f);

    if (is_wanted)
        errno = control->error;
    return is_wanted ? EOF : rc;
}
