// Where swift-crypto keeps its secrets. This file includes no header of the system.

// Between the two calls, what BoringSSL allocates on this thread lies in OpenSSL's secure heap. Calls may not be nested.
void csecretmemory_begin(void);
void csecretmemory_end(void);
