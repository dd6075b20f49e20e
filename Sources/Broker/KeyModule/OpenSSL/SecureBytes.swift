import COpenSSL
import Glibc

/// The octets of a secret in OpenSSL's secure heap: locked into memory, left out of core dumps, overwritten when the
/// last owner lets go.
///
/// Sendable: the pointer never changes, and nothing writes to the octets after ``init(capacity:filledBy:)`` has
/// returned.
@safe final class SecureBytes: @unchecked Sendable {
    private let start: UnsafeMutableRawPointer
    private let capacity: Int
    let count: Int

    /// - Parameter fill: Writes the secret and says how many octets of it there are.
    init(
        capacity: Int, filledBy fill: (UnsafeMutableRawBufferPointer) throws(KeyError) -> Int
    ) throws(KeyError) {
        SecureHeap.prepare()
        // Where there is no secure heap, OpenSSL takes the ordinary one.
        guard let start = unsafe copenssl_secure_malloc(max(capacity, 1)) else {
            throw .cryptography("out of memory for a key")
        }
        do throws(KeyError) {
            count = unsafe min(try fill(UnsafeMutableRawBufferPointer(start: start, count: capacity)), capacity)
        } catch {
            unsafe copenssl_secure_clear_free(start, max(capacity, 1))
            throw error
        }
        unsafe self.start = start
        self.capacity = max(capacity, 1)
    }

    deinit {
        unsafe copenssl_secure_clear_free(start, capacity)
    }

    /// Lends the octets; the pointer is not to leave `body`.
    func withUnsafeBytes<Result, Failure>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe body(UnsafeRawBufferPointer(start: start, count: count))
    }
}

/// The secure heap of the process. OpenSSL itself puts the private numbers of every key it decodes there.
enum SecureHeap {
    /// Enough for some hundred keys and the intermediate values of concurrent signatures. Locked memory is scarce: a
    /// service may lock 8 MiB by default, 64 KiB on older systems, in which case the heap exists but is not locked.
    private static let octets = 256 << 10
    private static let smallestBlock = 32

    private static let isPrepared = CRYPTO_secure_malloc_init(octets, smallestBlock) != 0

    /// Makes the heap before the first secret is read.
    static func prepare() {
        _ = isPrepared
    }
}

/// What keeps the memory of a process with keys in it to itself; beside ``SecureBytes``, which keeps the keys out of swap.
///
/// To be applied first of all, on the main thread: no_new_privs belongs to a thread, and only threads that are made later
/// inherit it.
public enum ProcessHardening {
    /// The call that failed, with what the system said.
    public struct Failure: Error, CustomStringConvertible {
        public let call: String
        public let reason: String

        public var description: String { "\(call): \(reason)" }
    }

    /// No core dump, no debugger of the same user, no new privileges for whatever this process might start, and no file
    /// that others may read.
    public static func apply() throws(Failure) {
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        try check("setrlimit(RLIMIT_CORE)", unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none))
        try check("prctl(PR_SET_DUMPABLE)", copenssl_forbid_dumps())
        try check("prctl(PR_SET_NO_NEW_PRIVS)", copenssl_forbid_new_privileges())
        umask(0o077)
    }

    private static func check(_ call: String, _ result: Int32) throws(Failure) {
        guard result == 0 else { throw Failure(call: call, reason: "error \(errno)") }
    }
}
