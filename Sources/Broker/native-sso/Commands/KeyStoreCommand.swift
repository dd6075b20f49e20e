import ArgumentParser
import FoundationEssentials
import Glibc
import KeyModule
import NativeSSO

/// The broker's user's side of a command on keys: see ``GlobalOptions/keyStore()``. Reads one request, and prints the
/// answer. No help names it, because only `native-sso` starts it.
struct KeyStoreCommand: AsyncParsableCommand {
    static let name = "key-store"
    static let configuration = CommandConfiguration(commandName: name, shouldDisplay: false)

    @Option var config = GlobalOptions.standardFile

    func run() async throws {
        guard geteuid() != 0 else {
            throw CommandFailure.usage("the key store does not run as root, who opens nothing in the key directory")
        }
        let answer: [UInt8]
        do {
            // The command has shown the warnings.
            let (keys, _) = try ConfigurationReader.read(
                file: config, environment: ProcessInfo.processInfo.environment, openingFiles: true
            ) { $0.keys() }
            let request = STDIN_FILENO.readToEnd() ?? []
            answer = try await KeyStore(try keys.provider()).answer(request)
        } catch let error as ConfigurationError {
            answer = KeyStore.refusal(error.problems.map { $0.line(file: config) }.joined(separator: "\n"))
        } catch {
            answer = KeyStore.refusal("\(error)")
        }
        try StandardStream.output.write(answer)
    }
}

extension GlobalOptions {
    /// The settings of the keys, and what makes, examines and destroys them. Under `native-sso-admin` that is a process of
    /// the broker's user, because this process has the credentials of the schema's owner.
    func keyStore() throws -> (keys: Configuration.Keys, provider: any KeyProvider) {
        guard let process = KeyStoreProcess(environment: ProcessInfo.processInfo.environment) else {
            let keys = try read { $0.keys() }
            return (keys, try keys.provider())
        }
        let keys = try read(openingFiles: false) { $0.keys() }
        return (keys, KeyStoreClient { request throws(KeyError) in try process.answer(request) })
    }
}

/// Starts the key store, once for each request.
private struct KeyStoreProcess {
    /// The program that starts the store and each of its arguments, a line each.
    private static let variable = "KEY_STORE_COMMAND"
    /// `POSIX_SPAWN_SETSID`, which the importer does not show. A process of another user gets no terminal of this one's.
    private static let ownSession: Int16 = 0x80

    private let command: [String]

    init?(environment: [String: String]) {
        guard let command = environment[Self.variable], !command.isEmpty else { return nil }
        self.command = command.split(separator: "\n").map(String.init)
    }

    func answer(_ request: [UInt8]) throws(KeyError) -> [UInt8] {
        let input = try Self.makePipe()
        let output = try Self.makePipe()
        defer { close(output.reader) }
        let process: pid_t
        do throws(KeyError) {
            defer {
                close(input.reader)
                close(output.writer)
            }
            process = try start(input: input.reader, output: output.writer)
        } catch {
            close(input.writer)
            throw error
        }
        // A store that does not read it gives no answer either.
        _ = input.writer.write(all: request)
        close(input.writer)
        let answer = output.reader.readToEnd()
        if answer == nil { kill(process, SIGKILL) }
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        guard let answer else {
            throw .store("the key store gave no answer of at most 1 MiB within a minute")
        }
        guard status == 0 else { throw .store("the key store failed: \(command.first ?? "") ended with \(status)") }
        return answer
    }

    /// The store gets no other file of this process, and none of its environment.
    private func start(input: Int32, output: Int32) throws(KeyError) -> pid_t {
        do throws(ProcessHardening.Failure) {
            try ProcessHardening.keepFiles()
        } catch {
            throw .store("the key store cannot be started: \(error)")
        }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO)
        posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF) | Self.ownSession)
        let arguments = command.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var process: pid_t = 0
        let failure = posix_spawn(&process, command[0], &actions, &attributes, arguments, [nil])
        guard failure == 0 else {
            throw .store("the key store cannot be started: \(String(cString: strerror(failure)))")
        }
        return process
    }

    private static func makePipe() throws(KeyError) -> (reader: Int32, writer: Int32) {
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { throw .store("pipe: \(String(cString: strerror(errno)))") }
        return (ends[0], ends[1])
    }
}

extension CInt {
    /// What is left to read of this pipe from a process of another account.
    /// - Returns: `nil`: it is longer than 1 MiB, or does not end within a minute.
    fileprivate func readToEnd() -> [UInt8]? {
        let limit = 1 << 20
        let end = ContinuousClock.now + .seconds(60)
        var octets: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while octets.count <= limit {
            var descriptor = pollfd(fd: self, events: Int16(POLLIN), revents: 0)
            let left = ContinuousClock.now.duration(to: end) / .milliseconds(1)
            guard left > 0 else { return nil }
            guard poll(&descriptor, 1, Int32(left.rounded(.up))) > 0 else { continue }
            let count = buffer.withUnsafeMutableBytes { Glibc.read(self, $0.baseAddress, $0.count) }
            if count > 0 { octets += buffer[..<count] } else if count == 0 || errno != EINTR { return octets }
        }
        return nil
    }
}
