import ArgumentParser
import Glibc
import KeyModule

/// The broker and its tools.
@main
struct NativeSSOCommand: CommandGroup {
    static let configuration = CommandConfiguration(
        commandName: "native-sso",
        abstract: "A token-exchange broker for OpenID Connect Native SSO.",
        version: "0.2.0",
        subcommands: [
            ServeCommand.self, SignerCommand.self, HealthcheckCommand.self, DoctorCommand.self, MigrateCommand.self,
            ConfigCommand.self,
            KeyCommand.self,
            JWKSCommand.self, MetadataCommand.self, ClientCommand.self, GroupCommand.self, ScopeCommand.self,
            RegistryFileCommand.self, SessionCommand.self, GrantCommand.self, DeviceCommand.self,
            AccountCommand.self, ProviderCommand.self, ProviderKeyCommand.self, SubjectPrefixCommand.self,
            RetentionCommand.self, SweepCommand.self, AuditCommand.self, DatabaseCommand.self, ExplainCommand.self,
        ])

    @OptionGroup var options: GlobalOptions

    static func main() async {
        // A reader who goes away must not kill a command in the middle of its work; see StandardStream.
        signal(SIGPIPE, SIG_IGN)
        // Every command, not only `serve`: others read keys and passwords too.
        do throws(ProcessHardening.Failure) {
            try ProcessHardening.apply()
        } catch {
            CommandOutput(format: .text).report(.infrastructure("this process cannot be hardened: \(error)"))
            end(with: .infrastructure)
        }
        end(with: await status(of: Array(CommandLine.arguments.dropFirst())))
    }

    /// Skips the exit handlers of libraries. A thread that had a database connection may still be ending, and OpenSSL's
    /// handler frees memory that this thread uses. The program itself buffers nothing.
    static func end(with status: ExitStatus) -> Never { _exit(status.rawValue) }

    /// Runs one command line, and reports its failure.
    static func status(of arguments: [String]) async -> ExitStatus {
        let path = CommandPath(arguments)
        do {
            if path.asksForHelp, let unknown = path.unknown {
                throw CommandFailure.usage("there is no command '\(unknown)'\(path.didYouMean)")
            }
            var command = try await command(arguments)
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
            return .done
        } catch {
            return conclude(error, arguments, path)
        }
    }

    /// Parses a command line. A profile has commands of its own. Asynchronous, because completions ask the registry.
    static func command(_ arguments: [String]) async throws -> any ParsableCommand {
        if arguments.first == KeyStoreCommand.name { return try KeyStoreCommand.parse(Array(arguments.dropFirst())) }
        guard let rest = try SupportProfile.arguments(arguments) else { return try await asyncParseAsRoot(arguments) }
        return try SupportProfile.parseAsRoot(rest)
    }

    private static func conclude(_ error: any Error, _ arguments: [String], _ path: CommandPath) -> ExitStatus {
        // Arguments that do not parse have no options yet.
        let output = CommandOutput(format: arguments.prefix { $0 != "--" }.contains("--json") ? .json : .text)
        do throws(CommandFailure) {
            try settle(error, path)
            return .done
        } catch {
            output.report(error, hint: path.hint)
            return error.status
        }
    }

    /// Answers `--help` and `--version`, which ArgumentParser gives as errors; throws everything else.
    private static func settle(_ error: any Error, _ path: CommandPath) throws(CommandFailure) {
        if let failure = CommandFailure(causedBy: error) { throw failure }
        switch exitCode(for: error) {
        case .success:
            let text = fullMessage(for: error)
            let lines = [text] + (text.hasPrefix("OVERVIEW: ") ? path.example : [])
            try StandardStream.output.write(Array((lines.joined(separator: "\n") + "\n").utf8))
        case .validationFailure:
            // ArgumentParser lists the values of an option line by line.
            let text = message(for: error).replacing("\n  - ", with: ", ").replacing(":, ", with: ": ")
            throw .usage(text + path.didYouMean)
        default: throw .infrastructure(String(describing: error))
        }
    }
}

/// A command with subcommands only. Naming no subcommand is an error, not a request for help: a service file that
/// forgot `serve` must not look like a service that ended well.
protocol CommandGroup: AsyncParsableCommand {}

extension CommandGroup {
    mutating func run() async throws {
        let names = Self.configuration.subcommands.map { $0._commandName }.joined(separator: ", ")
        throw ValidationError("Name a subcommand: \(names).")
    }
}
