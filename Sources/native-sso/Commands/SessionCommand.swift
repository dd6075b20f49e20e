import ArgumentParser
import NativeSSO
import Registry

/// `native-sso session`
struct SessionCommand: CommandGroup {
    static let configuration = CommandConfiguration(
        commandName: "session", abstract: "Logins, and what was issued from them.",
        subcommands: [
            SessionListCommand.self, SessionShowCommand.self, SessionRegisterCommand.self, SessionEndCommand.self,
        ])
}

/// Which sessions a command is about.
struct SessionSelectionOptions: ParsableArguments {
    @Option(help: "The identity provider; may be left out where the configuration has only one.")
    var issuer: Issuer?

    // Issuers choose these at random: one in some dozens of base64url texts begins with a hyphen.
    @Option(parsing: .unconditional, help: "The session's `sid` at its issuer.")
    var sid: SessionID?

    @Option(parsing: .unconditional, help: "All sessions of this user.")
    var sub: Subject?

    @Option(help: "All sessions that began on this device, by its digest as `session show` has it.")
    var device: DeviceDigest?

    @Option(help: "All sessions for which this client logged the user in.")
    var client: ClientID?

    /// How many of the options that choose are given.
    var count: Int { [sid != nil, sub != nil, device != nil, client != nil].count { $0 } }

    mutating func validate() throws {
        guard count <= 1 else { throw ValidationError("Give one of --sid, --sub, --device and --client.") }
        guard issuer == nil || sid != nil || sub != nil else { throw ValidationError("--issuer needs --sid or --sub.") }
    }

    /// `nil` where nothing narrows it down.
    func selection(_ configuration: Configuration) throws(CommandFailure) -> SessionSelection? {
        if let sid { return .session(try issuer(configuration), sid) }
        if let sub { return .subject(try issuer(configuration), sub) }
        if let device { return .device(device) }
        if let client { return .client(client) }
        return nil
    }

    private func issuer(_ configuration: Configuration) throws(CommandFailure) -> Issuer {
        try configuration.issuer(issuer)
    }
}

extension Configuration {
    /// The given issuer; where none is given, that of the only identity provider.
    func issuer(_ given: Issuer?) throws(CommandFailure) -> Issuer {
        if let given { return given }
        guard identityProviders.count == 1 else {
            throw .usage("--issuer is needed: the configuration has several identity providers")
        }
        return identityProviders[0].issuer
    }
}

/// `native-sso session list`
struct SessionListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "Sessions, the newest first.")

    @OptionGroup var which: SessionSelectionOptions

    @Flag(help: "Also those that ended or expired.")
    var ended = false

    @Option(help: "At most so many.")
    var limit: Int64 = 100

    @OptionGroup var options: GlobalOptions

    mutating func validate() throws {
        guard (1...100_000).contains(limit) else { throw ValidationError("--limit is from 1 to 100000.") }
    }

    func run() async throws {
        let selection = try which.selection(try options.configuration()) ?? .all
        let sessions = try await options.administer { registry throws(AdministrationError) in
            try await registry.sessions(selection, liveOnly: !ended, limit: limit)
        }
        try options.output.show(Table(sessions))
        if sessions.count == limit { options.output.warn(["There may be more than --limit \(limit) sessions."]) }
    }
}

/// `native-sso session show`
struct SessionShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "One session with the grants of each app.")

    @OptionGroup var which: SessionSelectionOptions
    @OptionGroup var options: GlobalOptions

    mutating func validate() throws {
        guard which.sid != nil else { throw ValidationError("--sid says which session.") }
    }

    func run() async throws {
        guard let selection = try which.selection(try options.configuration()) else { return }
        let found = try await options.administer { registry throws(AdministrationError) in
            guard let session = try await registry.sessions(selection, liveOnly: false, limit: 1).first else {
                throw .notFound("this session")
            }
            return SessionReport(session: session, grants: try await registry.grants(of: session.id))
        }
        try options.output.show(found)
    }
}
