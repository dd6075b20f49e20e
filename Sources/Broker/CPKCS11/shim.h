// PKCS#11 as KeyModule uses it. The module is loaded at run time: nothing is linked.
#include <dlfcn.h>
#define CRYPTOKI_GNU 1
#include <p11-kit-1/p11-kit/pkcs11.h>

// Why the module at `path` cannot be used; NULL: *functions is set. The text belongs to the loader.
static inline const char *cpkcs11_load(const char *path, struct ck_function_list **functions) {
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!module) return dlerror();
    CK_C_GetFunctionList list = (CK_C_GetFunctionList)dlsym(module, "C_GetFunctionList");
    if (!list) return "it has no function C_GetFunctionList";
    if (list(functions) != CKR_OK || !*functions) return "C_GetFunctionList failed";
    return 0;
}

static inline ck_rv_t cpkcs11_initialize(struct ck_function_list *functions) {
    struct ck_c_initialize_args arguments = {.flags = CKF_OS_LOCKING_OK};
    return functions->C_Initialize(&arguments);
}
