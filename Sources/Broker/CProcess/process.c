// For dl_iterate_phdr(3) and struct ucred.
#define _GNU_SOURCE
#include "CProcess.h"

#include <limits.h>
#include <link.h>
#include <linux/close_range.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

int cprocess_forbid_dumps(void) {
    return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

int cprocess_forbid_new_privileges(void) {
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

int cprocess_keep_files(void) {
    return close_range(STDERR_FILENO + 1, UINT_MAX, CLOSE_RANGE_CLOEXEC);
}

int cprocess_peer_user(int socket, unsigned *user) {
    struct ucred peer = {0};
    socklen_t length = sizeof peer;
    int result = getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length);
    *user = peer.uid;
    return result == 0 && length == sizeof peer ? 0 : -1;
}

static int release_segments(struct dl_phdr_info *object, size_t size, void *context) {
    ElfW(Addr) page = getpagesize();
    for (int index = 0; index < object->dlpi_phnum; index++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[index];
        // Never written, so the file has what is in memory.
        if (segment->p_type != PT_LOAD || (segment->p_flags & (PF_X | PF_W)) != PF_X) continue;
        ElfW(Addr) start = object->dlpi_addr + segment->p_vaddr, end = start + segment->p_memsz;
        start -= start % page;
        madvise((void *)start, end - start, MADV_DONTNEED);
    }
    return 0;
}

// The loader's lock is held meanwhile, so that no object goes.
void cprocess_release_code(void) {
    dl_iterate_phdr(release_segments, NULL);
}
