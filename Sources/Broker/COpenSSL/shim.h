// libcrypto as KeyModule uses it. The functions below stand for macros and variadics, which Swift cannot call.
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/objects.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/provider.h>
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

// Encrypted PKCS #8: PBES2 with PBKDF2-HMAC-SHA-256 and AES-256-CBC, RFC 8018. Returns 1 if it was written.
static inline int copenssl_write_encrypted(
    BIO *bio, EVP_PKEY *key, const char *passphrase, int count, int iterations) {
    int written = 0;
    X509_SIG *sealed = NULL;
    PKCS8_PRIV_KEY_INFO *info = EVP_PKEY2PKCS8(key);
    X509_ALGOR *algorithm =
        info == NULL ? NULL : PKCS5_pbe2_set_iv(EVP_aes_256_cbc(), iterations, NULL, 16, NULL, NID_hmacWithSHA256);
    if (algorithm != NULL) {
        sealed = PKCS8_set0_pbe(passphrase, count, info, algorithm);
        if (sealed == NULL) X509_ALGOR_free(algorithm);
    }
    if (sealed != NULL) written = PEM_write_bio_PKCS8(bio, sealed);
    X509_SIG_free(sealed);
    PKCS8_PRIV_KEY_INFO_free(info);
    return written;
}

// Makes this process use OpenSSL's FIPS provider, and the base provider for the formats of keys. Returns 1 if it does.
static inline int copenssl_use_fips(void) {
    return OSSL_PROVIDER_load(NULL, "fips") != NULL && OSSL_PROVIDER_load(NULL, "base") != NULL
        && EVP_default_properties_enable_fips(NULL, 1) == 1;
}
