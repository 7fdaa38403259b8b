/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/names.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

/*
 * A name is a number read as an asymmetric numeral system reads it: each step takes from the
 * number a symbol that is drawn by weight, and leaves what else the number says. That can be
 * undone, so two numbers never give one name, as long as the name can be parsed in one way:
 * no word is the beginning of another one.
 */
#define INDEX_BITS 28 /* numbers that are mixed; what is above them makes longer names */
#define SCALE_LOG2 14 /* the weights of the words sum up to 2^14 */
#define SCALE (1u << SCALE_LOG2)
#define TOKENS_MAX 3072
#define TOKEN_SIZE_MAX 14

/* No one of them begins another one. Common ones first. */
static const char *const words[] = {
    "the",       "my",        "shop",       "online",        "web",      "best",      "home",
    "new",       "group",     "tech",       "design",        "media",    "world",     "house",
    "health",    "city",      "blog",       "travel",        "food",     "art",       "green",
    "studio",    "life",      "all",        "star",          "photo",    "music",     "game",
    "sport",     "blue",      "book",       "store",         "center",   "club",      "info",
    "data",      "cloud",     "soft",       "lab",           "garden",   "law",       "dental",
    "clinic",    "school",    "auto",       "plus",          "one",      "net",       "first",
    "smart",     "digital",   "global",     "international", "solar",    "energy",    "power",
    "water",     "clean",     "service",    "solution",      "system",   "consult",   "partner",
    "agency",    "creative",  "event",      "wedding",       "dance",    "yoga",      "fit",
    "gym",       "beauty",    "hair",       "spa",           "care",     "medic",     "pharma",
    "doctor",    "nurse",     "baby",       "kid",           "toy",      "pet",       "dog",
    "cat",       "horse",     "fish",       "bird",          "farm",     "wine",      "beer",
    "coffee",    "tea",       "pizza",      "burger",        "sushi",    "cafe",      "kitchen",
    "cook",      "bake",      "cake",       "sweet",         "candy",    "fruit",     "organic",
    "natur",     "eco",       "bio",        "earth",         "forest",   "tree",      "flower",
    "rose",      "ocean",     "beach",      "island",        "river",    "lake",      "mountain",
    "hill",      "valley",    "sky",        "sun",           "moon",     "light",     "fire",
    "ice",       "snow",      "rain",       "wind",          "storm",    "cold",      "hot",
    "red",       "black",     "white",      "gold",          "silver",   "diamond",   "crystal",
    "pearl",     "jewel",     "watch",      "time",          "day",      "night",     "week",
    "year",      "happy",     "love",       "heart",         "soul",     "mind",      "spirit",
    "dream",     "magic",     "angel",      "king",          "queen",    "royal",     "crown",
    "castle",    "knight",    "dragon",     "tiger",         "lion",     "wolf",      "bear",
    "eagle",     "hawk",      "fox",        "rabbit",        "monkey",   "elephant",  "dolphin",
    "real",      "estate",    "property",   "land",          "build",    "construct", "architect",
    "interior",  "furniture", "floor",      "roof",          "door",     "wall",      "brick",
    "stone",     "wood",      "steel",      "metal",         "plastic",  "paper",     "print",
    "sign",      "pack",      "box",        "bag",           "shirt",    "dress",     "shoe",
    "cloth",     "fashion",   "style",      "trend",         "luxury",   "mode",      "lingerie",
    "denim",     "leather",   "silk",       "cotton",        "fabric",   "bank",      "finance",
    "invest",    "capital",   "trade",      "stock",         "money",    "cash",      "loan",
    "credit",    "insurance", "tax",        "account",       "audit",    "legal",     "attorney",
    "advocate",  "justice",   "police",     "security",      "guard",    "safe",      "lock",
    "key",       "alarm",     "camera",     "phone",         "mobile",   "app",       "code",
    "dev",       "program",   "hack",       "cyber",         "crypto",   "coin",      "token",
    "block",     "chain",     "robot",      "drone",         "laser",    "sensor",    "chip",
    "circuit",   "electric",  "electro",    "motor",         "engine",   "drive",     "truck",
    "bike",      "cycle",     "scooter",    "race",          "speed",    "fast",      "quick",
    "rapid",     "express",   "cargo",      "ship",          "boat",     "yacht",     "marine",
    "port",      "air",       "flight",     "plane",         "jet",      "tour",      "trip",
    "visit",     "guide",     "map",        "place",         "local",    "urban",     "metro",
    "street",    "road",      "bridge",     "park",          "square",   "tower",     "plaza",
    "town",      "country",   "nation",     "state",         "america",  "canada",    "mexico",
    "brazil",    "london",    "paris",      "berlin",        "madrid",   "roma",      "milano",
    "amsterdam", "vienna",    "zurich",     "moscow",        "dubai",    "india",     "china",
    "japan",     "tokyo",     "korea",      "asia",          "africa",   "euro",      "nordic",
    "alpine",    "texas",     "california", "nevada",        "oregon",   "boston",    "chicago",
    "dallas",    "denver",    "austin",     "miami",         "vegas",    "phoenix",   "seattle",
    "haus",      "garten",    "arzt",       "praxis",        "kauf",     "bau",       "werk",
    "werbung",   "schule",    "verein",     "stadt",         "berg",     "dorf",      "wald",
    "wasser",    "licht",     "kunst",      "musik",         "buch",     "spiel",     "freund",
    "familie",   "kinder",    "frau",       "mann",          "gesund",   "pflege",    "zahn",
    "tier",      "hund",      "katze",      "pferd",         "vogel",    "ferien",    "wohnung",
    "immo",      "makler",    "anwalt",     "kanzlei",       "steuer",   "berater",   "versicher",
    "hand",      "kraft",     "fahrt",      "rad",           "maschin",  "elektro",   "heiz",
    "klima",     "fenster",   "tisch",      "holz",          "stein",    "glas",      "farbe",
    "maler",     "dach",      "boden",      "kuche",         "koch",     "essen",     "trink",
    "bier",      "wein",      "brot",       "fleisch",       "casa",     "viaje",     "tienda",
    "salud",     "libro",     "vida",       "mundo",         "nuevo",    "mejor",     "gran",
    "centro",    "ciudad",    "luna",       "agua",          "fuego",    "jardin",    "flor",
    "arbol",     "cocina",    "comida",     "fruta",         "carne",    "pan",       "vino",
    "cerveza",   "moda",      "ropa",       "zapato",        "bolsa",    "reloj",     "belleza",
    "pelo",      "cuerpo",    "mujer",      "hombre",        "nino",     "familia",   "amigo",
    "amor",      "boda",      "fiesta",     "baile",         "cine",     "foto",      "juego",
    "deporte",   "futbol",    "coche",      "taller",        "motos",    "vuelo",     "barco",
    "puerto",    "escuela",   "clase",      "curso",         "idioma",   "derecho",   "abogado",
    "maison",    "voyage",    "boutique",   "sante",         "livre",    "monde",     "nouveau",
    "meilleur",  "ville",     "plage",      "soleil",        "lune",     "ciel",      "terre",
    "eau",       "feu",       "fleur",      "arbre",         "champ",    "ferme",     "cuisine",
    "repas",     "viande",    "pain",       "mariage",       "fete",     "musique",   "danse",
    "jeu",       "voiture",   "garage",     "vol",           "bateau",   "cours",     "langue",
    "droit",     "avocat",    "immeuble",   "bois",          "pierre",   "verre",     "peinture",
    "chauffage", "huis",      "tuin",       "reis",          "winkel",   "gezond",    "boek",
    "leven",     "wereld",    "nieuw",      "groot",         "strand",   "zon",       "maan",
    "bloem",     "boom",      "veld",       "keuken",        "eten",     "dom",       "sklep",
    "zdrowie",   "ksiazka",   "zycie",      "swiat",         "nowy",     "miasto",    "morze",
    "slonce",    "kwiat",     "drzewo",     "kuchnia",       "jedzenie", "praca",     "firma",
    "biuro",     "stroy",     "remont",     "mebel",         "avto",     "moskva",    "mir",
    "novosti",   "zdorovie",  "kniga",      "gorod",         "mashina",  "detal",     "okna",
    "dveri",     "krovlya",   "klub",       "master",        "expert",   "advisor",   "academy",
    "institut",  "college",   "university", "learn",         "train",    "coach",     "mentor",
    "study",     "research",  "science",    "quantum",       "nano",     "micro",     "macro",
    "mega",      "giga",      "ultra",      "super",         "hyper",    "turbo",     "max",
    "mini",      "prime",     "elite",      "premium",       "select",   "choice",    "value",
    "deal",      "sale",      "coupon",     "offer",         "bargain",  "outlet",    "mall",
    "bazaar",    "depot",     "supply",     "source",        "direct",   "factory",   "product",
    "brand",     "mark",      "logo",       "graphic",       "visual",   "video",     "film",
    "movie",     "podcast",   "stream",     "channel",       "stage",    "gallery",   "museum",
    "culture",   "history",   "heritage",   "classic",       "vintage",  "retro",     "antique",
    "future",    "next",      "gen",        "alpha",         "gamma",    "delta",     "omega",
    "sigma",     "zen",       "karma",      "lotus",         "buddha",   "temple",    "church",
    "bible",     "faith",     "grace",      "hope",          "joy",      "peace",     "unity",
    "trust",     "honor",     "pride",      "noble",         "brave",    "bold",      "strong",
    "wise",      "clever",    "bright",     "sharp",         "clear",    "pure",      "fresh",
    "crisp",     "smooth",    "calm",       "quiet",         "silent",   "loud",      "wild",
    "free",      "open",      "easy",       "simple",        "basic",    "core",      "base",
    "root",      "seed",      "leaf",       "branch",        "bloom",    "grow",      "harvest",
    "crop",      "field",     "meadow",     "ranch",         "barn",     "stable",    "cabin",
    "cottage",   "villa",     "manor",      "palace",        "resort",   "lodge",     "inn",
    "hostel",    "camp",      "tent",       "trail",         "hike",     "climb",     "ski",
    "surf",      "sail",      "swim",       "dive",          "run",      "walk",      "jump",
    "play",      "lucky",     "bet",        "casino",        "poker",    "slot",      "bingo",
    "lotto",     "jackpot",   "vip",        "party",         "fun",      "joke",      "laugh",
    "smile",     "kiss",      "hug",        "talk",          "chat",     "voice",     "speak",
    "word",      "letter",    "story",      "tale",          "poem",     "verse",     "write",
    "read",      "press",     "journal",    "magazine",      "daily",    "report",    "review",
    "forum",     "board",     "wiki",       "index",         "search",   "find",      "seek",
    "look",      "view",      "vision",     "optic",         "eye",      "lens",      "image",
    "pixel",     "cut",       "edge",       "point",         "line",     "curve",     "circle",
    "ring",      "loop",      "spiral",     "batch",         "pulse",    "beat",      "rhythm",
    "tone",      "sound",     "audio",      "bass",          "drum",     "guitar",    "piano",
    "violin",    "song",      "sing",       "choir",         "opera",    "jazz",      "rock",
    "punk",      "folk",      "disco",      "remix",         "vinyl",
};

/* Shares of 256. No suffix whose registry keeps common words for itself. */
static const struct {
    const char *text;
    unsigned share;
} suffixes[] = {
    { "com", 116 }, { "de", 18 },   { "net", 14 }, { "org", 13 },   { "ru", 8 },    { "co.uk", 9 },
    { "nl", 7 },    { "fr", 6 },    { "info", 5 }, { "com.br", 6 }, { "eu", 4 },    { "com.au", 5 },
    { "xyz", 6 },   { "top", 4 },   { "ch", 3 },   { "com.cn", 3 }, { "shop", 3 },  { "online", 3 },
    { "site", 2 },  { "store", 2 }, { "be", 2 },   { "ca", 3 },     { "io", 2 },    { "at", 2 },
    { "co.jp", 2 }, { "biz", 2 },   { "cz", 2 },   { "com.pl", 2 }, { "co.za", 1 }, { "me", 1 },
};
#define SUFFIXES (sizeof suffixes / sizeof *suffixes)

struct token {
    char text[TOKEN_SIZE_MAX + 1];
    uint8_t size;
    uint16_t begin; /* in the scale */
    uint16_t weight;
};

static struct token tokens[TOKENS_MAX];
static unsigned token_count;
static uint16_t token_at[SCALE];
static uint8_t suffix_at[256];
static uint8_t suffix_begin[SUFFIXES];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static bool begins(const char *beginning, const char *text)
{
    return strncmp(beginning, text, strlen(beginning)) == 0;
}

static bool add_token(const char *text, unsigned weight)
{
    struct token *t = &tokens[token_count];

    for (unsigned i = 0; i < token_count; i++) {
        if (begins(tokens[i].text, text) || begins(text, tokens[i].text))
            return false;
    }
    t->size = (uint8_t)strlen(text);
    memcpy(t->text, text, (size_t)t->size + 1);
    t->weight = (uint16_t)weight;
    token_count++;
    return true;
}

/* Syllables with weight 4 where no word is in the way. */
static void add_syllables(void)
{
    static const char consonants[] = "bcdfghjklmnprstvwz";
    static const char vowels[] = "aeiou";

    for (const char *a = consonants; *a != '\0'; a++) {
        for (const char *v = vowels; *v != '\0'; v++) {
            char text[4] = { *a, *v, '\0', '\0' };

            for (const char *b = consonants; *b != '\0'; b++) {
                text[2] = *b;
                (void)add_token(text, 4);
            }
        }
    }
}

static void add_digits(void)
{
    for (char c = '0'; c <= '9'; c++) {
        char text[2] = { c, '\0' };

        (void)add_token(text, 40);
    }
}

/* Words by rank get what the others leave of the scale, the first one the rest. */
static void make_tables(void)
{
    unsigned begin = 0;
    unsigned used = 0;

    for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
        (void)add_token(words[i], 2 + 3550 / (i + 60));
    add_digits();
    add_syllables();
    for (unsigned i = 0; i < token_count; i++)
        used += tokens[i].weight;
    tokens[0].weight = (uint16_t)(tokens[0].weight + SCALE - used);
    for (unsigned i = 0; i < token_count; i++) {
        tokens[i].begin = (uint16_t)begin;
        for (unsigned k = 0; k < tokens[i].weight; k++)
            token_at[begin++] = (uint16_t)i;
    }
    begin = 0;
    for (unsigned i = 0; i < SUFFIXES; i++) {
        suffix_begin[i] = (uint8_t)begin;
        for (unsigned k = 0; k < suffixes[i].share; k++)
            suffix_at[begin++] = (uint8_t)i;
    }
}

/* A bijection of the numbers of INDEX_BITS bits. */
static uint64_t mix(uint64_t x)
{
    const uint64_t mask = (UINT64_C(1) << INDEX_BITS) - 1;

    x = (x + 0x3243f6a) & mask;
    x = (x * 0x9e3779b1) & mask;
    x ^= x >> 15;
    x = (x * 0x85ebca6b) & mask;
    x ^= x >> 13;
    x = (x * 0xc2b2ae35) & mask;
    return x ^ x >> 14;
}

static const char *take_suffix(uint64_t *x)
{
    unsigned low = (unsigned)(*x & 255);
    unsigned i = suffix_at[low];

    *x = (*x >> 8) * suffixes[i].share + low - suffix_begin[i];
    return suffixes[i].text;
}

static const struct token *take_token(uint64_t *x)
{
    unsigned low = (unsigned)(*x & (SCALE - 1));
    const struct token *t = &tokens[token_at[low]];

    *x = (*x >> SCALE_LOG2) * t->weight + low - t->begin;
    return t;
}

static bool take_hyphen(uint64_t *x)
{
    bool hyphen = *x % 16 == 0;

    *x = hyphen ? *x / 16 : *x / 16 * 15 + *x % 16 - 1;
    return hyphen;
}

static char *put(char *to, const char *text, size_t size)
{
    memcpy(to, text, size);
    return to + size;
}

/* At least two words: a registry may keep single ones for itself. */
size_t make_name(uint64_t i, char out[NAME_ROOM])
{
    uint64_t x = i >> INDEX_BITS << INDEX_BITS | mix(i & ((UINT64_C(1) << INDEX_BITS) - 1));
    const struct token *t;
    const char *suffix;
    char *to = out;

    (void)pthread_once(&once, make_tables);
    suffix = take_suffix(&x);
    t = take_token(&x);
    to = put(to, t->text, t->size);
    if (take_hyphen(&x))
        *to++ = '-';
    for (; x >= token_count; to = put(to, t->text, t->size))
        t = take_token(&x);
    to = put(to, tokens[x].text, tokens[x].size);
    *to++ = '.';
    to = put(to, suffix, strlen(suffix) + 1);
    return (size_t)(to - 1 - out);
}
