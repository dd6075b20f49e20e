#include "CTokenLoop.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <time.h>
#define CRYPTOKI_GNU 1
#include <p11-kit-1/p11-kit/pkcs11.h>

static long long processor(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static int has_label(const struct ck_token_info *info, const char *label) {
    size_t count = strlen(label);
    return count <= 32 && memcmp(info->label, label, count) == 0 && (count == 32 || info->label[count] == ' ');
}

struct loop {
    struct ck_function_list *f;
    ck_slot_id_t slot;
    const char *name;
    unsigned long mechanism, count;
    long long start;
    double seconds;
    const char *failed;
};

static const char *sign(struct loop *loop) {
    struct ck_function_list *f = loop->f;
    ck_session_handle_t session;
    if (f->C_OpenSession(loop->slot, CKF_SERIAL_SESSION | CKF_RW_SESSION, 0, 0, &session) != CKR_OK)
        return "C_OpenSession";
    ck_object_class_t class = CKO_PRIVATE_KEY;
    struct ck_attribute template[] = {
        {CKA_CLASS, &class, sizeof class}, {CKA_LABEL, (void *)loop->name, strlen(loop->name)}};
    ck_object_handle_t key;
    unsigned long count;
    if (f->C_FindObjectsInit(session, template, 2) != CKR_OK) return "C_FindObjectsInit";
    if (f->C_FindObjects(session, &key, 1, &count) != CKR_OK || count != 1) return "C_FindObjects";
    f->C_FindObjectsFinal(session);
    struct ck_rsa_pkcs_pss_params pss = {CKM_SHA256, CKG_MGF1_SHA256, 32};
    struct ck_mechanism how = {loop->mechanism, 0, 0};
    if (loop->mechanism == CKM_SHA256_RSA_PKCS_PSS) how = (struct ck_mechanism){loop->mechanism, &pss, sizeof pss};
    unsigned char message[48] = {1}, signature[1024];
    do {
        for (int i = 0; i < 16; i++) {
            unsigned long length = sizeof signature;
            if (f->C_SignInit(session, &how, key) != CKR_OK) return "C_SignInit";
            // ECDSA signs a hash of the curve's length.
            if (f->C_Sign(session, message, loop->mechanism == CKM_ECDSA ? 32 : sizeof message, signature, &length)
                != CKR_OK)
                return "C_Sign";
        }
        loop->count += 16;
    } while (processor() - loop->start < loop->seconds * 1e9);
    f->C_CloseSession(session);
    return 0;
}

static void *run(void *loop) {
    ((struct loop *)loop)->failed = sign(loop);
    return 0;
}

const char *ctoken_sign(const char *module, const char *label, const char *pin, const char *name, unsigned long mechanism,
    double seconds, int threads, struct ctoken_loop *result) {
    void *library = dlopen(module, RTLD_NOW | RTLD_LOCAL);
    CK_C_GetFunctionList list = library ? (CK_C_GetFunctionList)dlsym(library, "C_GetFunctionList") : 0;
    struct ck_function_list *f;
    if (!list || list(&f) != CKR_OK) return "C_GetFunctionList";
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
    ck_session_handle_t session;
    if (f->C_OpenSession(slots[found], CKF_SERIAL_SESSION | CKF_RW_SESSION, 0, 0, &session) != CKR_OK)
        return "C_OpenSession";
    code = f->C_Login(session, CKU_USER, (unsigned char *)pin, strlen(pin));
    if (code != CKR_OK && code != CKR_USER_ALREADY_LOGGED_IN) return "C_Login";
    long long start = processor();
    struct loop loops[64];
    pthread_t ids[64];
    const char *failed = 0;
    if (threads < 1 || threads > 64) return "threads";
    for (int i = 0; i < threads; i++) {
        loops[i] = (struct loop){f, slots[found], name, mechanism, 0, start, seconds, 0};
        if (pthread_create(&ids[i], 0, run, &loops[i])) {
            failed = "pthread_create";
            threads = i;
        }
    }
    result->count = 0;
    for (int i = 0; i < threads; i++) {
        pthread_join(ids[i], 0);
        result->count += loops[i].count;
        if (loops[i].failed) failed = loops[i].failed;
    }
    result->nanoseconds = processor() - start;
    f->C_CloseSession(session);
    return failed;
}
