// A C API over llama.cpp's own grammar engine, for ctypes.
//
// Nothing of llama.cpp is copied here: tests/bench/schemabench/engine.py compiles this file together with three of
// llama.cpp's own sources (src/llama-grammar.cpp, src/unicode*.cpp) from an unpacked tree. The few symbols that those
// need from the rest of llama.cpp (vocabulary, logging, string helpers) are defined below, so neither ggml nor a model
// is needed.
#include "llama-grammar.h"
#include "llama-vocab.h"
#include "unicode.h"

#include <chrono>
#include <cmath>
#include <ctime>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

static thread_local std::string g_log;

// ---- symbols the compiled llama.cpp sources expect -------------------------------------------
extern "C" int sb_fprintf(FILE * f, const char * fmt, ...) {
    char buf[4096];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(buf, sizeof buf, fmt, ap);
    va_end(ap);
    if (f == stderr) {
        if (g_log.size() < 8192) g_log += buf;
    } else {
        fputs(buf, f);
    }
    return n;
}

void llama_log_internal(ggml_log_level, const char * fmt, ...) {
    char buf[2048];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(buf, sizeof buf, fmt, ap);
    va_end(ap);
    if (g_log.size() < 8192) g_log += buf;
}

extern "C" void ggml_abort(const char * file, int line, const char * fmt, ...) {
    (void) fmt;
    throw std::runtime_error(std::string("GGML_ABORT at ") + file + ":" + std::to_string(line));
}

// the vocabulary is a plain list of token texts that sb_vocab() sets; the engine only ever calls the
// two methods below, which do not touch the object, so any address serves as one
static std::vector<std::string> g_pieces;
static int g_eog = -1;
static char g_no_vocab[64];
bool llama_vocab::is_eog(llama_token t) const { return t == g_eog; }
const std::string & llama_vocab::token_to_piece(llama_token t) const { return g_pieces.at(t); }
int32_t llama_vocab::tokenize(const char *, int32_t, llama_token *, int32_t, bool, bool) const { return -1; }

std::string string_join(const std::vector<std::string> & v, const std::string & sep) {
    std::string r;
    for (size_t i = 0; i < v.size(); i++) { if (i) r += sep; r += v[i]; }
    return r;
}
std::vector<std::string> string_split(const std::string & s, const std::string & d) {
    std::vector<std::string> out;
    size_t a = 0, b;
    while ((b = s.find(d, a)) != std::string::npos) { out.push_back(s.substr(a, b - a)); a = b + d.size(); }
    out.push_back(s.substr(a));
    return out;
}
std::string string_repeat(const std::string & s, size_t n) {
    std::string r;
    while (n--) r += s;
    return r;
}

// ---- our C API -------------------------------------------------------------------------------
static void put(char * dst, size_t cap, const std::string & s) {
    if (!dst || !cap) return;
    size_t n = s.size() < cap - 1 ? s.size() : cap - 1;
    memcpy(dst, s.data(), n);
    dst[n] = 0;
}

struct sb_grammar {
    llama_grammar * g;
    llama_grammar_stacks start;
    size_t peak_stacks;
};

extern "C" {

// nullptr and a message in err when the engine refuses the grammar
void * sb_open(const char * gbnf, char * err, size_t cap) {
    g_log.clear();
    try {
        auto * vocab = reinterpret_cast<const llama_vocab *>(g_no_vocab);
        llama_grammar * g = llama_grammar_init_impl(vocab, gbnf, "root", false, nullptr, 0, nullptr, 0);
        if (!g) { put(err, cap, g_log); return nullptr; }
        return new sb_grammar{g, g->stacks, 0};
    } catch (const std::exception & e) {
        put(err, cap, g_log + e.what());
        return nullptr;
    }
}

void sb_close(void * h) {
    auto * s = static_cast<sb_grammar *>(h);
    llama_grammar_free_impl(s->g);
    delete s;
}

// 1 accepted, 0 rejected, -2 deadline passed, -3 too many stacks, -1 error.
// pos: code point index where it stopped; peak: most stacks alive at once
int sb_match(void * h, const char * text, double deadline_s, size_t max_stacks, size_t * pos, size_t * peak) {
    auto * s = static_cast<sb_grammar *>(h);
    auto t0 = std::chrono::steady_clock::now();
    s->g->stacks = s->start;
    size_t mx = s->start.size(), i = 0;
    int r = -1;
    try {
        const auto cpts = unicode_cpts_from_utf8(text);
        auto & st = llama_grammar_get_stacks(s->g);
        r = 1;
        for (auto c : cpts) {
            llama_grammar_accept(s->g, c);
            if (st.size() > mx) mx = st.size();
            if (st.empty()) { r = 0; break; }
            if (max_stacks && st.size() > max_stacks) { r = -3; break; }
            if ((i & 15) == 0 && deadline_s > 0 &&
                std::chrono::duration<double>(std::chrono::steady_clock::now() - t0).count() > deadline_s) { r = -2; break; }
            i++;
        }
        if (r == 1) {
            r = 0;
            for (const auto & k : st) if (k.empty()) { r = 1; break; }
        }
    } catch (const std::exception &) {
        r = -1;
    }
    if (pos) *pos = i;
    if (peak) *peak = mx;
    return r;
}

// rules after the engine's own expansion of repetitions, and their elements
void sb_size(void * h, size_t * n_rules, size_t * n_elems, size_t * n_start) {
    auto * s = static_cast<sb_grammar *>(h);
    const auto & r = llama_grammar_get_rules(s->g);
    size_t e = 0;
    for (const auto & x : r) e += x.size();
    if (n_rules) *n_rules = r.size();
    if (n_elems) *n_elems = e;
    if (n_start) *n_start = s->start.size();
}

// A random text of the grammar in out: at each step one of the live stacks is drawn, then a character
// that its top takes.  Returns the length in bytes, or -1 when it was not complete after max_chars.
static uint64_t g_rng = 1;
static uint64_t rnd(uint64_t n) {
    g_rng ^= g_rng << 13; g_rng ^= g_rng >> 7; g_rng ^= g_rng << 17;
    return n ? (g_rng >> 11) % n : 0;
}
int sb_random(void * h, uint64_t seed, int max_chars, char * out, size_t cap) {
    static const uint32_t odd[] = {'"', '\\', '\n', '\t', 1, '/', 0x7f, 0xe9, 0x1f600, ' ', '0', '-', '{', ',', ':'};
    auto * s = static_cast<sb_grammar *>(h);
    g_rng = seed * 0x9E3779B97F4A7C15ull + 88172645463325252ull;
    for (int i = 0; i < 8; i++) rnd(1);
    s->g->stacks = s->start;
    std::string r;
    for (int i = 0; i < max_chars; i++) {
        auto & st = llama_grammar_get_stacks(s->g);
        if (st.empty()) return -1;
        const auto & k = st[rnd(st.size())];
        if (k.empty()) {
            if (r.size() + 1 > cap) return -1;
            memcpy(out, r.c_str(), r.size() + 1);
            return (int) r.size();
        }
        const llama_grammar_element * p = k.back();
        std::vector<std::pair<uint32_t, uint32_t>> ranges;
        const bool neg = p->type == LLAMA_GRETYPE_CHAR_NOT, any = p->type == LLAMA_GRETYPE_CHAR_ANY;
        if (!any) {
            do {
                if (p[1].type == LLAMA_GRETYPE_CHAR_RNG_UPPER) { ranges.push_back({p->value, p[1].value}); p += 2; }
                else { ranges.push_back({p->value, p->value}); p += 1; }
            } while (p->type == LLAMA_GRETYPE_CHAR_ALT);
        }
        auto fits = [&](uint32_t c) {
            bool in = any;
            for (auto & q : ranges) in = in || (q.first <= c && c <= q.second);
            return any || in != neg;
        };
        uint32_t c = 0;
        bool ok = false;
        if (!neg && !any) {
            auto & q = ranges[rnd(ranges.size())];
            uint32_t w = q.second >= q.first ? q.second - q.first + 1 : 1;
            c = q.first + (uint32_t) rnd(w);
            ok = c != 0 && (c < 0xd800 || c > 0xdfff);
        }
        for (int t = 0; t < 200 && !ok; t++) {
            c = rnd(8) == 0 ? odd[rnd(sizeof odd / sizeof odd[0])] : (uint32_t) (32 + rnd(95));
            ok = fits(c);
        }
        if (!ok) return -1;
        r += unicode_cpt_to_utf8(c);
        llama_grammar_accept(s->g, c);
    }
    return -1;
}
}
