#include "CSecretMemory.h"

#include <malloc.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local int uses_secure_heap;

void csecretmemory_begin(void) {
    uses_secure_heap = 1;
}

void csecretmemory_end(void) {
    uses_secure_heap = 0;
}

__attribute__((noinline)) void csecretmemory_wipe_stack(void) {
    char dead[8 << 10];
    explicit_bzero(dead, sizeof dead);
}

// A program that defines these three functions gives BoringSSL all its memory: crypto/mem.cc there. Any thread may free what
// another allocated. These functions may not call BoringSSL.

void *OPENSSL_memory_alloc(size_t count) {
    return uses_secure_heap ? OPENSSL_secure_malloc(count) : malloc(count);
}

void OPENSSL_memory_free(void *start) {
    if (CRYPTO_secure_allocated(start)) {
        OPENSSL_secure_free(start); // overwrites it
    } else {
        explicit_bzero(start, malloc_usable_size(start));
        free(start);
    }
}

size_t OPENSSL_memory_get_size(void *start) {
    return CRYPTO_secure_allocated(start) ? OPENSSL_secure_actual_size(start) : malloc_usable_size(start);
}
