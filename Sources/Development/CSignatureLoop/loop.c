#include "CSignatureLoop.h"

#include <dlfcn.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define CRYPTOKI_GNU 1
#include <p11-kit-1/p11-kit/pkcs11.h>

struct kind {
    const char *algorithm;
    // NULL: the algorithm hashes by itself.
    const EVP_MD *(*hash)(void);
    unsigned long mechanism;
};

static const struct kind kinds[] = {
    {"ES256", EVP_sha256, CKM_ECDSA},
    {"ES384", EVP_sha384, CKM_ECDSA},
    {"EdDSA", 0, 0},
    {"RS256", EVP_sha256, CKM_SHA256_RSA_PKCS},
    {"PS256", EVP_sha256, CKM_SHA256_RSA_PKCS_PSS},
};

struct csignature_key {
    const struct kind *kind;
    // Of a file.
    EVP_PKEY *evp;
    // Of a token.
    struct ck_function_list *f;
    ck_object_handle_t object;
    ck_session_handle_t sessions[64];
};

static unsigned char message[512];

static struct csignature_key *make(const char *algorithm) {
    struct csignature_key *key = calloc(1, sizeof *key);
    for (size_t i = 0; key && i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(kinds[i].algorithm, algorithm)) key->kind = &kinds[i];
    memset(message, 'm', sizeof message);
    return key && key->kind ? key : 0;
}

const char *csignature_open_file(const char *path, const char *algorithm, struct csignature_key **result) {
    struct csignature_key *key = *result = make(algorithm);
    FILE *file = key ? fopen(path, "r") : 0;
    if (!file) return "fopen";
    key->evp = PEM_read_PrivateKey(file, 0, 0, 0);
    fclose(file);
    return key->evp ? 0 : "PEM_read_PrivateKey";
}

static int has_label(const struct ck_token_info *info, const char *label) {
    size_t count = strlen(label);
    return count <= 32 && memcmp(info->label, label, count) == 0 && (count == 32 || info->label[count] == ' ');
}

const char *csignature_open_token(const char *module, const char *label, const char *pin, const char *name,
    const char *algorithm, int sessions, struct csignature_key **result) {
    struct csignature_key *key = *result = make(algorithm);
    void *library = key ? dlopen(module, RTLD_NOW | RTLD_LOCAL) : 0;
    CK_C_GetFunctionList list = library ? (CK_C_GetFunctionList)dlsym(library, "C_GetFunctionList") : 0;
    if (!list || list(&key->f) != CKR_OK) return "C_GetFunctionList";
    struct ck_function_list *f = key->f;
    struct ck_c_initialize_args arguments = {.flags = CKF_OS_LOCKING_OK};
    ck_rv_t code = f->C_Initialize(&arguments);
    if (code != CKR_OK && code != CKR_CRYPTOKI_ALREADY_INITIALIZED) return "C_Initialize";
    ck_slot_id_t slots[64];
    unsigned long count = 64, found = 64;
    if (f->C_GetSlotList(1, slots, &count) != CKR_OK) return "C_GetSlotList";
    for (unsigned long i = 0; i < count; i++) {
        struct ck_token_info info;
        if (f->C_GetTokenInfo(slots[i], &info) == CKR_OK && has_label(&info, label)) found = i;
    }
    if (found == 64) return "C_GetTokenInfo";
    for (int i = 0; i < sessions && i < 64; i++)
        if (f->C_OpenSession(slots[found], CKF_SERIAL_SESSION | CKF_RW_SESSION, 0, 0, &key->sessions[i]) != CKR_OK)
            return "C_OpenSession";
    ck_session_handle_t session = key->sessions[0];
    code = f->C_Login(session, CKU_USER, (unsigned char *)pin, strlen(pin));
    if (code != CKR_OK && code != CKR_USER_ALREADY_LOGGED_IN) return "C_Login";
    ck_object_class_t class = CKO_PRIVATE_KEY;
    struct ck_attribute template[] = {
        {CKA_CLASS, &class, sizeof class}, {CKA_LABEL, (void *)name, strlen(name)}};
    if (f->C_FindObjectsInit(session, template, 2) != CKR_OK) return "C_FindObjectsInit";
    if (f->C_FindObjects(session, &key->object, 1, &count) != CKR_OK || count != 1) return "C_FindObjects";
    f->C_FindObjectsFinal(session);
    return 0;
}

static const char *sign_by_file(const struct csignature_key *key) {
    unsigned char signature[1024];
    size_t length = sizeof signature;
    EVP_PKEY_CTX *padding;
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    const struct kind *kind = key->kind;
    int is_signed = context && EVP_DigestSignInit(context, &padding, kind->hash ? kind->hash() : 0, 0, key->evp) == 1
        && (kind->mechanism != CKM_SHA256_RSA_PKCS_PSS
            || (EVP_PKEY_CTX_set_rsa_padding(padding, RSA_PKCS1_PSS_PADDING) == 1
                && EVP_PKEY_CTX_set_rsa_pss_saltlen(padding, RSA_PSS_SALTLEN_DIGEST) == 1))
        && EVP_DigestSign(context, signature, &length, message, sizeof message) == 1;
    EVP_MD_CTX_free(context);
    return is_signed ? 0 : "EVP_DigestSign";
}

static const char *sign_by_token(const struct csignature_key *key, ck_session_handle_t session) {
    const struct kind *kind = key->kind;
    unsigned char signature[1024], hash[EVP_MAX_MD_SIZE], *input = message;
    unsigned long length = sizeof signature, count = sizeof message;
    unsigned int hashed;
    struct ck_rsa_pkcs_pss_params pss = {CKM_SHA256, CKG_MGF1_SHA256, 32};
    struct ck_mechanism how = {kind->mechanism, 0, 0};
    if (kind->mechanism == CKM_SHA256_RSA_PKCS_PSS) how = (struct ck_mechanism){kind->mechanism, &pss, sizeof pss};
    if (kind->mechanism == CKM_ECDSA) {
        // It signs a hash.
        if (EVP_Digest(message, sizeof message, hash, &hashed, kind->hash(), 0) != 1) return "EVP_Digest";
        input = hash;
        count = hashed;
    }
    if (key->f->C_SignInit(session, &how, key->object) != CKR_OK) return "C_SignInit";
    return key->f->C_Sign(session, input, count, signature, &length) == CKR_OK ? 0 : "C_Sign";
}

const char *csignature_repeat(const struct csignature_key *key, int session, int count) {
    const char *failed = 0;
    for (int i = 0; i < count && !failed; i++)
        failed = key->evp ? sign_by_file(key) : sign_by_token(key, key->sessions[session]);
    return failed;
}
