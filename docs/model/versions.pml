/* SPDX-License-Identifier: Apache-2.0
 * versions.pml - publish, rollback, lease and collection of index versions, for spin.
 *
 * README.md in this folder says what stands for what; run.sh runs it. Each request to the store is
 * one step; between two steps of a process all others may take any number of theirs, and time may
 * pass. A process that takes no further step has crashed or sleeps: no step of any other waits for
 * it, so "may crash at any point" and "may be slow for ever" need no words, except where somebody
 * comes after it (a collector, a server).
 *
 * -DM_...: one rule of the protocol is left out or done wrong. The checker must find the harm.
 */
#ifndef NP
#define NP 1 /* publishers */
#endif
#ifndef NR
#define NR 0 /* who rolls back */
#endif
#ifndef NS
#define NS 1 /* servers */
#endif
#ifndef NG
#define NG 1 /* collectors */
#endif
#ifndef FLIPS
#define FLIPS 2 /* sequence numbers after the first */
#endif
#ifndef TTL
#define TTL 2 /* of a lease, in ticks */
#endif
#ifndef LIFE
#define LIFE 1 /* of a cursor */
#endif
#ifndef WAIT
#define WAIT (TTL + LIFE) /* between "is to go" and "nobody may come to it" */
#endif
#define GRACE 2 /* M_SWEEP_LISTING alone */
#define SKEW 1  /* M_LOCAL_CLOCK alone */
#if defined(INCREMENTAL) || defined(PARTS)
#define SHARES 1 /* a version may reference objects that its base has */
#else
#define SHARES 0
#endif
#define VERSIONS (FLIPS + 1)
#ifdef NAMESAKE
#define LEASES 3 /* the one that both servers begin with, and one of each of them */
#define OBJECT(s) object[s]
#else
#define LEASES SERVERS
#define OBJECT(s) s
#endif
#define NONE 255
#define BIT(i) (1 << (i))
#define HAS(set, i) (((set) >> (i)) & 1)
#if NS
#define SERVERS NS
#else
#define SERVERS 1
#endif
#if NP
#define PUBLISHERS NP
#else
#define PUBLISHERS 1
#endif

/* ---- the store ---- */

/* manifest.json. Its ETag is not a number here: known says which processes have read it since it
 * was last put, which is what If-Match asks. */
byte seq = 0;
byte cur = 0;
byte entries = 1;  /* versions it has an entry of */
byte condemned = 0; /* those of them that are to go: wait[v] ticks from now */
byte dropped = 0;  /* those that nobody may come to any more */
byte wait[VERSIONS];
byte known = 0;

byte objects = 1; /* bit v: what version v wrote in index/v/ is there */
byte lake = 1;    /* bit f: lake file f is there */
byte claims = 1;  /* index/claims/v: stay for ever */
byte lease[LEASES];
byte lease_left[LEASES]; /* by the store's clock */
#ifdef NAMESAKE
byte holder = NONE; /* whose instance is in lease 0 */
#endif

/* What is in the versions: never changes once it is written. */
byte refs[VERSIONS];  /* objects, its own and those of others */
byte files[VERSIONS]; /* lake files */

/* ---- servers ---- */

byte pins[SERVERS];
byte left[SERVERS];    /* how long its lease holds, by its own clock */
byte pending[SERVERS]; /* the same, for the lease that it has sent */
byte serves[SERVERS];  /* what it takes for the current version */
#ifdef NAMESAKE
byte object[SERVERS];  /* the lease that it writes; 0: the one of the name */
byte heir[SERVERS];    /* what the lease held that it took over, and for how long yet */
byte heir_left[SERVERS];
bool owned[SERVERS];   /* it has had lease 0 */
#endif
byte cursor[VERSIONS]; /* the youngest cursor on v lives this long */
#ifdef LATE
byte late[SERVERS]; /* a lease whose reply is not awaited any more; 0: none */
byte late_ok = 0;   /* no other lease of the server was put since it was sent */
#endif

/* ---- what only the properties look at ---- */

byte won = 0;   /* bit q: somebody's put on the manifest of sequence q flipped */
byte named = 1; /* lake files that a published version has named */
byte building[PUBLISHERS]; /* the version that publisher p has begun; 0: none */
byte base[PUBLISHERS];     /* sequence of the manifest that it began with */
byte grace = 0;

#define PUBLISHER(p) (p)
#define ROLLBACK 2
#define COLLECTOR(g) (3 + (g))
#define READ(who) known = known | BIT(who)
#define MAY_PUT(who) HAS(known, who)
#define PUT known = 0
#define LISTED (entries & ~dropped)
#ifdef M_NO_DROP
#define KEPT (LISTED & ~condemned)
#else
#define KEPT LISTED
#endif

/* PARTS: what a version references beside its own are parts: versions with an entry of their own,
 * whose objects go with that. into: which of the set stand on v. */
#define STAND_ON(set, v, into, x)                                                     \
    into = 0;                                                                         \
    for (x : 0 .. VERSIONS - 1) {                                                     \
        into = into | (x != v && HAS(set, x) && HAS(refs[x], v) -> BIT(x) : 0)        \
    }                                                                                 \
    x = 0
#ifdef PARTS
#define OWN(v) BIT(v)
#else
#define OWN(v) refs[v]
#endif

/* Nobody who has a right to it needs an object or lake file of the set `what`. */
#define CHECK_FREE(what, lists, x, y)                                             \
    for (x : 0 .. VERSIONS - 1) {                                                 \
        if                                                                        \
        :: (lists[x] & (what)) ->                                                 \
            assert(!HAS(KEPT, x)); /* a version that is kept or current */        \
            assert(cursor[x] == 0);                                               \
            for (y : 0 .. SERVERS - 1) {                                          \
                assert(!(HAS(pins[y], x) && left[y] > 0)); /* a live reader */    \
            }                                                                     \
            for (y : 0 .. PUBLISHERS - 1) { /* a publish that can still commit */ \
                assert(!(x != 0 && building[y] == x && base[y] == seq));          \
            }                                                                     \
        :: else                                                                   \
        fi                                                                        \
    }                                                                             \
    x = 0;                                                                        \
    y = 0

/* What the versions of a set have in all. */
#define ALL_OF(set, lists, into, x)                     \
    into = 0;                                           \
    for (x : 0 .. VERSIONS - 1) {                       \
        into = into | (HAS(set, x) -> lists[x] : 0)     \
    }                                                   \
    x = 0

inline flip(to_, number_, base_)
{
    assert((objects & refs[to_]) == refs[to_]); /* the current version is whole */
    assert((lake & files[to_]) == files[to_]);
    assert(!HAS(won, base_)); /* one winner for each base */
    assert(number_ > seq);   /* sequences only grow */
#ifdef PARTS
    assert((refs[to_] & ~BIT(to_) & ~LISTED) == 0); /* its parts can be opened */
#endif
    won = won | BIT(base_);
    seq = number_;
    cur = to_;
    entries = entries | BIT(to_);
#ifndef M_OLD_MARK
    condemned = condemned & ~BIT(to_);
    wait[to_] = 0;
#endif
    named = named | files[to_];
    PUT
}

/* ---- who writes versions ---- */

proctype publisher(byte p)
{
    byte fresh, number, v, y, have;

    do
    :: d_step { /* P1: the manifest, and the lists of all versions that it has an entry of */
           base[p] = seq;
           READ(PUBLISHER(p));
#ifdef M_FORGET
           ALL_OF(LISTED, files, have, v)
#else
           ALL_OF(entries, files, have, v)
#endif
       }
       fresh = lake & ~have; /* P2: the lake is listed after that */
       d_step { /* P3: a name that nobody ever had, above the sequence that was read */
           number = base[p] + 1;
           do
           :: number < VERSIONS && HAS(claims, number) -> number++
           :: else -> break
           od;
           if
           :: number < VERSIONS ->
               claims = claims | BIT(number);
               building[p] = number
           :: else -> number = NONE
           fi
       }
       if
       :: number == NONE -> break
       :: else
       fi;
       atomic { /* P4: what it will be is decided; no base, no lists of it */
           if
           :: !MAY_PUT(PUBLISHER(p)) && seq != base[p] -> v = NONE
           :: else -> v = cur
           fi;
           if
           :: v == NONE -> /* it will lose in any case; what it writes then is all its own */
               refs[number] = BIT(number);
               files[number] = fresh
           :: v != NONE ->
               refs[number] = BIT(number);
               files[number] = files[v] | fresh
           :: v != NONE && SHARES ->
               refs[number] = BIT(number) | refs[v];
               files[number] = files[v] | fresh
#ifdef PARTS
           :: v != NONE -> /* the newest part is merged into its own */
               refs[number] = BIT(number) | (refs[v] & ~BIT(v));
               files[number] = files[v] | fresh
#endif
           :: v != NONE && (files[v] & 1) && (files[v] | fresh) != 1 -> /* a file is taken out */
               refs[number] = BIT(number);
               files[number] = (files[v] | fresh) & ~1
           fi;
           v = 0;
           have = 0
       }
       objects = objects | BIT(number);
again:
#ifdef M_UNDO_UNKNOWN
       /* the reply to the put is lost, nothing is known: the objects are taken away, and then
        * the put arrives */
       if
       :: objects = objects & ~BIT(number)
       :: skip
       fi;
#endif
       atomic { /* P6: the put, if the manifest is the one that was read */
           if
#ifdef M_NO_CONDITION
           :: true ->
#else
           :: MAY_PUT(PUBLISHER(p)) ->
#endif
               assert((files[cur] & ~files[number] & ~1) == 0); /* no batch is lost */
               assert((fresh & named) == 0); /* nothing that was taken out comes back */
               flip(number, number, base[p]);
               building[p] = 0
#ifdef M_REBASE_ANY
           :: !MAY_PUT(PUBLISHER(p)) && number > seq -> READ(PUBLISHER(p)); goto again
#endif
#ifndef M_NO_CONDITION
           :: !MAY_PUT(PUBLISHER(p)) && seq == base[p] -> /* P7: a collector's put only */
               READ(PUBLISHER(p));
               goto again
           :: !MAY_PUT(PUBLISHER(p)) && seq != base[p] -> /* P8: told that it has lost */
               building[p] = 0;
               v = 1
#endif
           fi
       }
       if
       :: v == 1 -> objects = objects & ~BIT(number); v = 0 /* takes its objects away */
       :: else
       fi;
       fresh = 0;
       number = 0
    od
}

proctype rollback()
{
    byte to, number;

    do
    :: d_step {
           number = seq + 1;
           READ(ROLLBACK)
       }
       if
       :: number >= VERSIONS -> break
       :: else
       fi;
       atomic {
           select (to : 0 .. VERSIONS - 1);
           if
           :: HAS(LISTED, to) && to != cur && MAY_PUT(ROLLBACK)
           :: else -> to = NONE
           fi
       }
       if
       :: to == NONE -> skip
       :: else ->
           atomic {
               if
               :: MAY_PUT(ROLLBACK) -> flip(to, number, seq)
               :: else /* told */
               fi
           }
       fi;
       to = 0;
       number = 0
    od
}

#if NI
proctype ingest()
{
    byte f = 1;

    do
    :: f <= NI -> lake = lake | BIT(f); grace = GRACE; f++
#ifdef M_NAME_REUSE
    :: f > NI ->
       atomic { /* another file under a name that is free again */
           !HAS(lake, 0) -> lake = lake | 1;
           named = named & ~1;
           break
       }
#else
    :: f > NI -> break
#endif
    od
}
#endif

/* ---- servers ---- */

proctype server(byte s)
{
    byte want, v;

    do
    :: /* S1: which version is current; or one that a request names */
#ifdef LIVE
       want = BIT(cur);
#else
       atomic {
           if
           :: want = BIT(cur)
           :: want = BIT(cur) | pins[s]
#ifndef SIMPLE
           :: cur != 0 && HAS(LISTED, 0) -> want = BIT(cur) | 1
#endif
           fi
       }
#endif
       atomic { /* S2: what is not wanted any more is let go; then the lease is sent */
           pins[s] = pins[s] & want;
           pending[s] = TTL;
#ifdef NAMESAKE
           if
           :: object[s] == 0 && holder != s && owned[s] -> object[s] = s + 1 /* gives way */
           :: object[s] == 0 && holder != s && !owned[s] -> /* takes over */
#ifndef M_NO_HEIR
               heir[s] = lease[0];
#endif
               heir_left[s] = TTL;
               owned[s] = true;
               holder = s
           :: else
           fi;
           lease[OBJECT(s)] = want | (heir_left[s] > 0 -> heir[s] : 0);
           lease_left[OBJECT(s)] = TTL
#else
#ifdef SIMPLE
           lease[s] = want;
           lease_left[s] = TTL
#endif
#endif
       }
#ifdef LATE
       if
       :: late[s] == 0 -> /* no reply, and not awaited any more: it may arrive at any time */
           atomic {
               late[s] = want;
               late_ok = late_ok | BIT(s);
               goto done
           }
       :: true
       fi;
#endif
#ifndef SIMPLE
       atomic { /* the store has it, now or later */
           lease[s] = want;
           lease_left[s] = TTL;
#ifdef LATE
           late_ok = late_ok & ~BIT(s)
#endif
       }
#endif
#ifdef M_NO_CONFIRM
       d_step {
           pins[s] = want;
           serves[s] = cur;
#else
       d_step { /* S3: the manifest again: what is new must still be there for all */
           v = (left[s] > 0 -> pins[s] : 0);
           pins[s] = want & (LISTED | v);
           serves[s] = (HAS(pins[s], cur) -> cur : NONE);
#endif
#ifdef M_ACK_TIME
           left[s] = TTL;
#else
           left[s] = pending[s];
#endif
           pending[s] = 0;
           if
           :: left[s] == 0 -> pins[s] = 0; serves[s] = NONE
           :: else
           fi;
           v = 0
       }
done:
       want = 0
    :: atomic { /* a listing begins: its cursor lives LIFE */
           left[s] > 0 && serves[s] != NONE -> cursor[serves[s]] = LIFE
       }
#if !defined(LIVE) && !defined(SIMPLE)
    :: pins[s] != 0 -> /* it dies, and begins again */
       d_step {
           pins[s] = 0;
           left[s] = 0;
           serves[s] = NONE
       }
#endif
#ifdef LATE
    :: late[s] != 0 ->
       atomic {
           if
#ifdef M_LATE_LEASE
           :: true ->
#else
           :: HAS(late_ok, s) ->
#endif
               lease[s] = late[s];
               lease_left[s] = TTL
           :: else
           fi;
           late[s] = 0
       }
#endif
    od
}

/* ---- collectors ---- */

#ifdef M_LOCAL_CLOCK
#define EXPIRED(s) (lease_left[s] <= SKEW)
#else
#define EXPIRED(s) (lease_left[s] == 0)
#endif

/* It dies and begins again: all it knew is lost. */
#if defined(LIVE) || defined(SIMPLE)
#define MAY_DIE skip
#else
#define MAY_DIE          \
    if                   \
    :: true              \
    :: goto idle         \
    fi
#endif
#ifdef M_LEASES_FIRST
#define ASKS_AFTER 0
#else
#define ASKS_AFTER (NS > 0 -> LEASES : 0)
#endif
#ifdef M_SHARED
#define OTHERS (LISTED & ~BIT(v))
#else
#define OTHERS (entries & ~BIT(v))
#endif

proctype collector(byte g)
{
    byte v, s, y, keep, keep_files, mine;

    do
    :: atomic { /* G1: the manifest; one version is looked at */
           READ(COLLECTOR(g));
#ifdef LIVE
           v = (v + 1) % VERSIONS;
#else
           select (v : 0 .. VERSIONS - 1);
#endif
           if
           :: HAS(LISTED & ~condemned, v) && v != cur -> goto condemn
           :: HAS(LISTED & condemned, v) && v != cur && wait[v] == 0 -> goto drop
#ifdef M_NO_RESUME
           :: HAS(dropped, v) && HAS(mine, v) -> goto leases
#else
           :: HAS(dropped, v) -> goto leases
#endif
#ifdef M_LEFTOVER_AGE
           :: HAS(objects & ~entries, v) -> goto leftover
#else
           :: HAS(objects & ~entries, v) && v <= seq -> goto leftover
#endif
#ifdef M_SWEEP_LISTING
           :: HAS(lake, 1) && grace == 0 -> goto sweep
#endif
           :: else -> goto idle
           fi
       }
condemn:
       atomic { /* G2: it is written down that v is to go, and since when */
#ifdef PARTS
           STAND_ON(LISTED & ~condemned, v, keep, s);
           if
           :: keep != 0 -> goto idle /* a part of a version that is kept */
           :: else
           fi;
#endif
           MAY_DIE;
           if
           :: MAY_PUT(COLLECTOR(g)) ->
               condemned = condemned | BIT(v);
               wait[v] = WAIT;
               PUT
           :: else
           fi;
           goto idle
       }
drop:
#ifdef M_LEASES_FIRST
       s = 0;
       do
       :: s < NS ->
           atomic {
               if
               :: !EXPIRED(s) && HAS(lease[s], v) -> goto idle
               :: else -> s++
               fi
           }
       :: else -> break
       od;
#endif
#ifdef M_NO_DROP
       goto leases; /* a second look says that nobody has come, but no put does */
#endif
       atomic { /* G3: nobody may come to it from here on */
#if defined(PARTS) && !defined(M_PART_DROP)
           STAND_ON(LISTED, v, keep, s);
           if
           :: keep != 0 -> goto idle /* a version that may become current again stands on it */
           :: else
           fi;
#endif
           MAY_DIE;
           if
           :: MAY_PUT(COLLECTOR(g)) ->
               condemned = condemned & ~BIT(v);
               PUT;
#ifdef M_FORGET
               entries = entries & ~BIT(v);
               goto leases
#else
               dropped = dropped | BIT(v);
               mine = mine | BIT(v)
#endif
           :: else
           fi;
           goto idle
       }
leases:
       atomic { /* G4: what all others have, by the manifest that was read when v was dropped */
           s = 0;
           ALL_OF(OTHERS, refs, keep, y);
           ALL_OF(OTHERS, files, keep_files, y);
#ifdef PARTS
#ifdef M_PART_REMOVE
           keep = 0;
#else
           STAND_ON(entries, v, keep, s);
           if
           :: keep != 0 -> goto idle /* what stands on it goes first, with its leases */
           :: else
           fi;
#endif
#endif
#ifndef M_NO_DROP
#ifndef M_FORGET
           known = (HAS(dropped, v) -> known | BIT(COLLECTOR(g)) : known)
#endif
#endif
       }
       do /* G5: the leases, one by one */
       :: s < ASKS_AFTER ->
           atomic {
               if
               :: !EXPIRED(s) && HAS(lease[s], v) -> goto idle
               :: else -> s++
               fi
           }
       :: else -> break
       od;
       atomic {
           MAY_DIE;
           d_step { /* G6: lake files that no other entry names */
               CHECK_FREE(lake & files[v] & ~keep_files, files, s, y);
               assert((lake & files[v] & ~keep_files & ~named) == 0); /* no new file goes */
               lake = lake & (~files[v] | keep_files);
               s = 0;
               keep_files = 0
           }
       }
       atomic {
           MAY_DIE;
           d_step { /* G7: objects that no other entry references */
               CHECK_FREE(objects & OWN(v) & ~keep, refs, s, y);
               objects = objects & (~OWN(v) | keep);
               s = 0;
               keep = 0
           }
       }
       atomic { /* G8: the entry goes last, if the manifest is still that of G4 */
           MAY_DIE;
           if
#ifdef M_REMOVE_ANY
           :: HAS(dropped, v) ->
#else
           :: MAY_PUT(COLLECTOR(g)) ->
#endif
               entries = entries & ~BIT(v);
               dropped = dropped & ~BIT(v);
               condemned = condemned & ~BIT(v);
               PUT;
               ALL_OF(entries, files, keep_files, y);
               assert((lake & named & ~keep_files) == 0) /* nothing is left that nobody lists */
           :: else
           fi;
           goto idle
       }
leftover:
       atomic { /* G9: objects of a publish that cannot commit any more */
           ALL_OF(entries, refs, keep, y);
           if
           :: HAS(keep, v) -> goto idle
           :: else
           fi
       }
       d_step {
           CHECK_FREE(BIT(v), refs, s, y);
           objects = objects & ~BIT(v)
       }
#ifdef M_SWEEP_LISTING
       goto idle;
sweep:
       atomic {
           ALL_OF(entries, files, keep_files, y);
           if
           :: HAS(keep_files, 1) -> goto idle
           :: else
           fi
       }
       d_step {
           CHECK_FREE(lake & BIT(1), files, s, y);
           assert(HAS(named, 1)); /* no new file goes */
           lake = lake & ~BIT(1)
       }
#endif
idle:
       atomic {
#ifndef LIVE
           v = 0;
#endif
#ifndef M_NO_RESUME
           mine = 0;
#endif
           s = 0;
           keep = 0;
           keep_files = 0;
           known = known & ~BIT(COLLECTOR(g))
       };
#ifdef M_NO_RESUME
       if
       :: true
       :: mine = 0 /* it dies and begins again */
       fi
#endif
    od
}

/* ---- time ---- */

#define DOWN(x) x = (x > 0 -> x - 1 : 0)

proctype clock()
{
    byte i;

    do
    :: d_step {
           for (i : 0 .. VERSIONS - 1) {
               DOWN(wait[i]);
               DOWN(cursor[i])
           }
           for (i : 0 .. LEASES - 1) {
               DOWN(lease_left[i])
           }
           for (i : 0 .. SERVERS - 1) {
#ifdef NAMESAKE
               DOWN(heir_left[i]);
#endif
               DOWN(pending[i]);
               if
               :: left[i] == 1 -> /* the fence: its lease may be over, all is let go */
#ifdef M_FENCE_CURRENT
                   /* but for what it takes for the current version, which it goes on with */
                   pins[i] = (serves[i] != NONE -> pins[i] & BIT(serves[i]) : 0);
                   left[i] = (pins[i] != 0)
#else
                   pins[i] = 0;
                   serves[i] = NONE;
                   left[i] = 0
#endif
               :: else -> DOWN(left[i])
               fi
           }
           DOWN(grace);
           i = 0
       }
    od
}

init
{
    byte i;

    atomic {
        refs[0] = 1;
        files[0] = 1;
#ifdef TWO /* two versions are there at the beginning, so that rollbacks have where to go */
        refs[1] = 2;
        files[1] = 3;
        objects = 3;
        lake = 3;
        named = 3;
        claims = 3;
        entries = 3;
        seq = 1;
        cur = 1;
#endif
        for (i : 0 .. SERVERS - 1) {
            serves[i] = NONE
        }
        i = 0;
        do
        :: i < NP -> run publisher(i); i++
        :: i < NR + NP && i >= NP -> run rollback(); i++
        :: i == NR + NP -> break
        od;
        i = 0;
        do
        :: i < NS -> run server(i); i++
        :: else -> break
        od;
        i = 0;
        do
        :: i < NG -> run collector(i); i++
        :: else -> break
        od;
#if NI
        run ingest();
#endif
        run clock();
        i = 0
    }
}

#ifdef LIVE
/* What is not current any more, and what only it had, is gone one day. (No rollback here.) */
#define TRACES ((entries | (objects & ~refs[cur]) | (lake & ~files[cur])) & 1)
ltl collected { [] ((cur != 0) -> <> (TRACES == 0)) }
#endif
