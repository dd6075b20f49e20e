import COpenSSL
import Glibc

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
