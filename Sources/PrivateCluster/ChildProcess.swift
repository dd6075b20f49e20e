import Foundation
import Glibc

/// One process that was started here and is waited for here.
package struct ChildProcess: Sendable {
    package let pid: Int32

    /// `POSIX_SPAWN_SETSID`, which the importer does not show.
    private static let ownSession: Int16 = 0x80

    /// Starts a program in a session of its own, so that an interrupt at the terminal reaches the owner alone.
    ///
    /// The child gets the three descriptors and no other.
    package static func spawn(
        _ arguments: [String], environment: [String: String] = [:], input: Int32, output: Int32, errors: Int32
    ) throws -> ChildProcess {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (source, target) in [(input, Int32(0)), (output, 1), (errors, 2)] {
            posix_spawn_file_actions_adddup2(&actions, source, target)
        }
        let inherited = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        for descriptor in inherited.compactMap({ Int32($0) }) where descriptor > 2 {
            posix_spawn_file_actions_addclose(&actions, descriptor)
        }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK) | ownSession)

        let all = ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C"].merging(environment) { _, given in given }
        let argv = arguments.map { strdup($0) } + [nil]
        let envp = all.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for pointer in argv + envp { free(pointer) } }
        var pid: pid_t = 0
        let failure = posix_spawn(&pid, arguments[0], &actions, &attributes, argv, envp)
        guard failure == 0 else { throw PrivateClusterError.system(call: "posix_spawn", errno: failure) }
        return ChildProcess(pid: pid)
    }

    /// Blocks until the process has ended. The exit status, or 128 + the signal that ended it.
    package func wait() -> Int32 {
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0 { guard errno == EINTR else { return -1 } }
        let signal = status & 0x7f
        return signal == 0 ? (status >> 8) & 0xff : 128 + signal
    }

    /// Runs a program to its end and gives what it wrote. Blocks.
    ///
    /// Input and output are unlinked files: no pipe can fill up, and no signal tells of a reader that left.
    static func run(
        _ arguments: [String], name: String, environment: [String: String] = [:], input: String = ""
    ) throws -> String {
        let (source, sink) = (try UnlinkedFile(), try UnlinkedFile())
        try source.write(input)
        let child = try spawn(
            arguments, environment: environment, input: source.descriptor, output: sink.descriptor,
            errors: sink.descriptor)
        let status = child.wait()
        let output = sink.contents()
        guard status == 0 else {
            throw PrivateClusterError.programFailed(name: name, status: status, output: String(output.suffix(2000)))
        }
        return output
    }
}

/// A file without a name, for the input or output of one process.
private final class UnlinkedFile {
    let descriptor: Int32

    init() throws {
        var path = Array("/tmp/private-cluster-XXXXXX".utf8CString)
        descriptor = mkstemp(&path)
        guard descriptor >= 0 else { throw PrivateClusterError.system(call: "mkstemp", errno: errno) }
        unlink(path)
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    }

    deinit { close(descriptor) }

    func write(_ text: String) throws {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else { throw PrivateClusterError.system(call: "write", errno: errno) }
            rest = rest.dropFirst(count)
        }
        lseek(descriptor, 0, SEEK_SET)
    }

    func contents() -> String {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = pread(descriptor, &buffer, buffer.count, bytes.count)
            guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
            bytes += buffer[..<count]
        }
    }
}
