import COpenSSL
import CProcess
import Glibc

/// A secret in OpenSSL's secure heap: locked into memory, excluded from core dumps, overwritten on release.
///
/// `@unchecked Sendable`: the pointer is constant, and the octets do not change after ``init(capacity:filledBy:)``.
@safe final class SecureBytes: @unchecked Sendable {
    private let start: UnsafeMutableRawPointer
    private let capacity: Int
    let count: Int

    /// - Parameter fill: Writes the secret and returns its length in octets.
    init(
        capacity: Int, filledBy fill: (UnsafeMutableRawBufferPointer) throws(KeyError) -> Int
    ) throws(KeyError) {
        SecureHeap.prepare()
        // Without a secure heap, OpenSSL uses the ordinary heap.
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

    convenience init(_ text: String) throws(KeyError) {
        let octets = Array(text.utf8)
        unsafe try self.init(capacity: octets.count) { secret in
            unsafe secret.copyBytes(from: octets)
            return octets.count
        }
    }

    deinit {
        unsafe copenssl_secure_clear_free(start, capacity)
    }

    /// Passes the octets to `body`; the pointer must not escape.
    func withUnsafeBytes<Result, Failure>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe body(UnsafeRawBufferPointer(start: start, count: count))
    }

    /// Compares in a time that depends on the lengths alone.
    func hasSameOctets(as other: SecureBytes) -> Bool {
        unsafe count == other.count && CRYPTO_memcmp(start, other.start, count) == 0
    }
}

/// The process's secure heap. The private numbers of decoded keys lie there, too.
enum SecureHeap {
    /// Enough for several hundred keys and the intermediate values of OpenSSL's signatures. A service may lock 8 MiB
    /// by default, but only 64 KiB on older systems: there the heap exists but is not locked.
    private static let octets = 256 << 10
    private static let smallestBlock = 32

    /// 0: there is no heap. 1: it is locked. 2: it is not, or not completely.
    private static let result = CRYPTO_secure_malloc_init(octets, smallestBlock)

    static var isLocked: Bool { result == 1 }

    /// Creates the heap. Must run before the first secret is read.
    static func prepare() {
        _ = result
    }
}

extension ProcessHardening {
    /// Whether the heap of the keys is locked into memory. Creates it.
    package static var locksSecrets: Bool { SecureHeap.isLocked }
}

/// Protects the memory of a process that holds keys. ``SecureBytes`` keeps the keys out of swap.
///
/// Call it first, on the main thread: no_new_privs belongs to a thread, and only later threads inherit it.
package enum ProcessHardening {
    package struct Failure: Error, CustomStringConvertible {
        package let call: String
        package let reason: String

        package var description: String { "\(call): \(reason)" }
    }

    /// Forbids core dumps, debuggers of the same user, new privileges for child processes, and files that others can
    /// read.
    package static func apply() throws(Failure) {
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        try check("setrlimit(RLIMIT_CORE)", unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none))
        try check("prctl(PR_SET_DUMPABLE)", cprocess_forbid_dumps())
        try check("prctl(PR_SET_NO_NEW_PRIVS)", cprocess_forbid_new_privileges())
        umask(0o077)
    }

    /// Gives programs that this process starts none of its files, also those that libraries have opened.
    package static func keepFiles() throws(Failure) {
        try check("close_range(CLOSE_RANGE_CLOEXEC)", cprocess_keep_files())
    }

    private static func check(_ call: String, _ result: Int32) throws(Failure) {
        guard result == 0 else { throw Failure(call: call, reason: "error \(errno)") }
    }
}

/// The code of the program and of its libraries in memory.
package enum ProgramCode {
    /// Takes its pages out of this process, because most were used by the start only. They stay in the system's cache, and
    /// come back when they run. A debugger's breakpoints in them are lost. madvise(2), `MADV_DONTNEED`.
    package static func release() { cprocess_release_code() }
}
