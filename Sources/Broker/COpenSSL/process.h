// prctl(2) is variadic, which Swift cannot call. Here, because KeyModule alone keeps secrets in memory.
#include <sys/prctl.h>

static inline int copenssl_forbid_dumps(void) {
    return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

static inline int copenssl_forbid_new_privileges(void) {
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}
