import ChildProcesses
import Foundation

/// A shell that outlives this process until it has ended the programs and removed the directories of this process, even
/// after SIGKILL.
final class Guardian: Sendable {
    static let shared = Result { try Guardian() }

    private let orders: FileHandle

    // It reads orders until this process has gone. Programs have five seconds to end. Directories are removed again while
    // others still write into them.
    private static let script = """
        trap '' INT TERM
        pids=
        while read -r order operand; do
            kept=
            for known in $pids; do [ "$known" = "$operand" ] || kept="$kept $known"; done
            pids=$kept
            case $order in
            watch) pids="$pids $operand" ;;
            sweep) set -- "$@" "$operand" ;;
            esac
        done
        for pid in $pids; do kill -CONT $pid; kill -TERM $pid; done
        naps=0
        while [ -n "$pids" ] && [ $naps -lt 50 ]; do
            sleep 0.1
            naps=$((naps + 1))
            kept=
            for pid in $pids; do kill -0 $pid && kept="$kept $pid"; done
            pids=$kept
        done
        for pid in $pids; do kill -KILL $pid; done
        for directory; do
            naps=0
            while [ -e "$directory" ] && [ $naps -lt 600 ]; do
                rm -rf "$directory" || sleep 0.1
                naps=$((naps + 1))
            done
        done
        """

    private init() throws {
        let channel = try PrivateChannel()
        _ = try ChildProcess(
            ["/bin/sh", "-c", Self.script, "guardian"], environment: ChildProcess.bareEnvironment, inOwnSession: true,
            input: channel.reading)
        orders = channel.writing
    }

    /// Ends this program after this process.
    func watch(_ pid: Int32) throws { try orders.send("watch \(pid)\n") }

    /// The program has ended.
    func release(_ pid: Int32) throws { try orders.send("release \(pid)\n") }

    /// Removes this directory after this process.
    func sweep(_ directory: String) throws { try orders.send("sweep \(directory)\n") }
}

/// A directory for everything that belongs together. It is removed at the end of this process, even after SIGKILL.
package struct WorkingDirectory: Sendable {
    package let path: String
    private let isKept: Bool

    package struct NotEmpty: Error, CustomStringConvertible {
        let path: String
        package var description: String {
            "\(path) holds something already: name an empty directory, or one that does not exist"
        }
    }

    /// - Parameters:
    ///   - path: Must not exist, or be empty: nothing that was there before is ever removed.
    ///   - isKept: The directory stays.
    package init(_ path: String, isKept: Bool = false) throws {
        // A relative path would mean another place to a program that changes its directory.
        self.path = URL(filePath: path).standardizedFileURL.path
        self.isKept = isKept
        let files = FileManager.default
        if let present = try? files.contentsOfDirectory(atPath: self.path), !present.isEmpty {
            throw NotEmpty(path: self.path)
        }
        // PostgreSQL runs under another account when this runs as root, and has to get through to its own directory.
        try files.createDirectory(
            atPath: self.path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o711])
        if !isKept { try Guardian.shared.get().sweep(self.path) }
    }

    /// A new directory.
    /// - Parameters:
    ///   - name: What its name begins with.
    ///   - parent: `nil`: the temporary directory.
    package init(named name: String, in parent: String? = nil, isKept: Bool = false) throws {
        let random = String(UInt64.random(in: 0...UInt64.max), radix: 36)
        try self.init(
            "\(parent ?? FileManager.default.temporaryDirectory.path)/\(name)-\(random)", isKept: isKept)
    }

    /// A directory below this one that only this user sees.
    @discardableResult
    package func subdirectory(_ name: String) throws -> String {
        let path = "\(self.path)/\(name)"
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        return path
    }

    /// Removes the directory, unless it is kept. Tries for a minute, because others may still write into it.
    package func remove() async {
        guard !isKept else { return }
        let deadline = ContinuousClock.now + .seconds(60)
        while FileManager.default.fileExists(atPath: path), ContinuousClock.now < deadline {
            do { try FileManager.default.removeItem(atPath: path) } catch {
                try? await Task.sleep(for: .milliseconds(100))
            }
        }
    }
}
