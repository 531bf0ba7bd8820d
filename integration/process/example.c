/* A verifier in C as a process subject: standard verification of one draft on uniforms that it is handed.
 *
 * It reads just enough JSON for the requests it gets: keys in any order, arrays of numbers. Build with: cc -O2 example.c
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct { double *at; size_t count; size_t shape[4]; int depth; } Array;

/* Read the array behind "key": its numbers row after row, and its shape as that of the first entries. */
static Array array(const char *line, const char *key) {
    Array found = {NULL, 0, {0, 0, 0, 0}, 0};
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\":", key);
    const char *at = strstr(line, quoted);
    if (!at) return found;
    at += strlen(quoted);
    at += strspn(at, " \t");
    size_t room = 0, entries[8] = {0};
    int depth = 0, level;
    do {
        if (*at == '[') {
            if (++depth > found.depth) found.depth = depth;
            entries[depth] = 0;
        } else if (*at == ']') {
            if (depth <= 4) found.shape[depth - 1] = entries[depth];
            depth--;
            entries[depth]++;
        } else if (strchr("+-.0123456789", *at)) {
            char *end;
            if (found.count == room) found.at = realloc(found.at, (room = 2 * room + 64) * sizeof(double));
            found.at[found.count++] = strtod(at, &end);
            entries[depth]++;
            at = end;
            continue;
        }
        at++;
    } while (depth > 0 && *at);
    for (level = found.depth; level < 4; level++) found.shape[level] = 1;
    return found;
}

static size_t draw(const double *weights, size_t vocabulary, double uniform) {
    double sum = 0;
    size_t token, last = 0;
    for (token = 0; token < vocabulary; token++) sum += weights[token];
    uniform *= sum;
    for (token = 0; token < vocabulary; token++) {
        if (weights[token] <= 0) continue;
        last = token;
        if (uniform < weights[token]) return token;
        uniform -= weights[token];
    }
    return last;
}

int main(void) {
    char *line = NULL;
    size_t room = 0;
    printf("{\"specproof\": 1, \"name\": \"example in C\", \"rule\": \"standard\", \"uniforms\": {\"token\": 1, \"request\": 1}}\n");
    fflush(stdout);
    while (getline(&line, &room, stdin) > 0) {
        Array x = array(line, "tokens"), q = array(line, "draft_probs"), p = array(line, "target_probs");
        Array u = array(line, "uniforms");
        size_t batch = x.shape[0], length = x.shape[2], vocabulary = p.shape[3], b, i, v;
        long number = strtol(strstr(line, "\"id\":") + 5, NULL, 10);
        size_t *accepted = malloc(batch * sizeof *accepted);
        double *left = malloc(vocabulary * sizeof *left);
        printf("{\"id\": %ld, \"tokens\": [", number);
        for (b = 0; b < batch; b++) {
            const double *drafted = x.at + b * length, *rows = p.at + b * (length + 1) * vocabulary;
            const double *draft = q.at + b * length * vocabulary, *coins = u.at + b * (length + 1);
            size_t n = 0;
            while (n < length) {
                size_t token = (size_t)drafted[n];
                if (coins[n] * draft[n * vocabulary + token] >= rows[n * vocabulary + token]) break;
                n++;
            }
            for (v = 0; v < vocabulary; v++) {
                left[v] = rows[n * vocabulary + v] - (n < length ? draft[n * vocabulary + v] : 0);
                if (left[v] < 0) left[v] = 0;
            }
            printf("%s[", b ? ", " : "");
            for (i = 0; i <= length; i++) {
                long token = i < n ? (long)drafted[i] : i == n ? (long)draw(left, vocabulary, coins[length]) : -1;
                printf("%s%ld", i ? ", " : "", token);
            }
            printf("]");
            accepted[b] = n;
        }
        printf("], \"accepted\": [");
        for (b = 0; b < batch; b++) printf("%s%zu", b ? ", " : "", accepted[b]);
        printf("]}\n");
        fflush(stdout);
        free(accepted), free(left), free(x.at), free(q.at), free(p.at), free(u.at);
    }
    free(line);
    return 0;
}
