// prctl(2) is variadic, which Swift cannot call. Here, because KeyModule alone keeps secrets in memory.
#include <sys/prctl.h>
#include <sys/socket.h>

static inline int copenssl_forbid_dumps(void) {
    return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

// struct ucred needs _GNU_SOURCE before the first header. These are its three numbers: unix(7), SO_PEERCRED.
static inline int copenssl_peer_user(int socket, unsigned *user) {
    unsigned credentials[3] = {0, 0, 0};
    socklen_t length = sizeof credentials;
    int result = getsockopt(socket, SOL_SOCKET, SO_PEERCRED, credentials, &length);
    *user = credentials[1];
    return result == 0 && length == sizeof credentials ? 0 : -1;
}

static inline int copenssl_forbid_new_privileges(void) {
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}
