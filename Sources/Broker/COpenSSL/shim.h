// libcrypto as KeyModule uses it. The functions below stand for macros and variadics, which Swift cannot call.
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

static inline EVP_PKEY *copenssl_generate_ec(const char *curve) {
    return EVP_EC_gen(curve);
}

static inline EVP_PKEY *copenssl_generate_ed25519(void) {
    return EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
}

static inline EVP_PKEY *copenssl_generate_rsa(unsigned int bits) {
    return EVP_RSA_gen(bits);
}

static inline void *copenssl_secure_malloc(size_t count) {
    return OPENSSL_secure_malloc(count);
}

static inline void copenssl_secure_free(void *start) {
    OPENSSL_secure_free(start);
}

static inline void copenssl_secure_clear_free(void *start, size_t count) {
    OPENSSL_secure_clear_free(start, count);
}

static inline long copenssl_bio_octets(BIO *bio, char **start) {
    return BIO_get_mem_data(bio, start);
}
