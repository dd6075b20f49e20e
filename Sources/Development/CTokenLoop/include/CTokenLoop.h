// Signatures by a PKCS#11 module in a loop of C: the reference for what the broker's own provider costs.

struct ctoken_loop {
    // Signatures, and the processor time of this process for them in nanoseconds.
    long count;
    long long nanoseconds;
};

// Logs in to the token `label` of `module`, and signs with its private key `key` on `threads` threads, each with a session of
// its own, for `seconds` of processor time. NULL: it worked; otherwise the call that failed.
const char *ctoken_sign(const char *module, const char *label, const char *pin, const char *key, unsigned long mechanism,
    double seconds, int threads, struct ctoken_loop *result);
