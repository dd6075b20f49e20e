#include "CSecretMemory.h"

#include <malloc.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local int is_secret;

void csecretmemory_begin(void) {
    is_secret = 1;
}

void csecretmemory_end(void) {
    is_secret = 0;
}

// A program that defines these three gives BoringSSL all its memory: crypto/mem.cc there. They may not call BoringSSL.

void *OPENSSL_memory_alloc(size_t count) {
    return is_secret ? OPENSSL_secure_malloc(count) : malloc(count);
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
