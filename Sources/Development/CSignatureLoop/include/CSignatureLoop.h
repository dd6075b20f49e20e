// Signatures in a loop of C, over the same 512 octets each: the reference for what the broker's own providers cost.
// A key stays open until the process ends. A function returns NULL if it worked, otherwise the call that failed.

struct csignature_key;

// Opens the private key in a PEM file. It signs by OpenSSL's one-shot EVP_DigestSign, in a new context each time.
// `algorithm` is the name of a JWS algorithm.
const char *csignature_open_file(const char *path, const char *algorithm, struct csignature_key **key);

// Opens the private key `name` in the token `label` of `module`, with so many sessions, at most 64.
const char *csignature_open_token(const char *module, const char *label, const char *pin, const char *name,
    const char *algorithm, int sessions, struct csignature_key **key);

// Signs `count` times. In a token, each thread needs a session of its own, counted from 0.
const char *csignature_repeat(const struct csignature_key *key, int session, int count);
