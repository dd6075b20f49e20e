// The memory of both copies of BoringSSL in this program, those of swift-crypto and swift-nio-ssl.

// Between the two calls, what BoringSSL allocates on this thread lies in OpenSSL's secure heap, or in the ordinary one if there
// is no secure heap. Calls may not be nested.
void csecretmemory_begin(void);
void csecretmemory_end(void);

// Overwrites 8 KiB of the stack below the caller. BoringSSL may leave private numbers in the frames of calls that have returned.
void csecretmemory_wipe_stack(void);
