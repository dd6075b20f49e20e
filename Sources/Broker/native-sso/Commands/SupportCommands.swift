import ArgumentParser
import NativeSSO
import PostgresClient
import Registry

/// `native-sso --profile support`: what a support desk may do, with the database role `native_sso_support`. Each look is
/// in the audit.
struct SupportProfile: CommandGroup {
    static let configuration = CommandConfiguration(
        commandName: "native-sso --profile support",
        abstract: "Find and end the sessions of one user, and explain a request. Each look is in the audit.",
        discussion: """
            It needs a database user who is a member of native_sso_support, and nothing else: in NATIVE_SSO_DATABASE_URL, or \
            in a configuration of its own.
            """,
        subcommands: [SupportSessionCommand.self, SupportExplainCommand.self])

    @OptionGroup var options: GlobalOptions

    /// The arguments after `--profile support`, which come first; `nil`: there are no such two.
    static func arguments(_ arguments: [String]) throws -> [String]? {
        let rest: [String]
        let name: String?
        if arguments.first == "--profile" {
            (name, rest) = (arguments.dropFirst().first, Array(arguments.dropFirst(2)))
        } else if let first = arguments.first, first.hasPrefix("--profile=") {
            (name, rest) = (String(first.dropFirst("--profile=".count)), Array(arguments.dropFirst()))
        } else {
            return nil
        }
        guard name == "support" else { throw CommandFailure.usage("the only profile is: --profile support") }
        return rest
    }
}

struct SupportSessionCommand: CommandGroup {
    static let configuration = CommandConfiguration(
        commandName: "session", abstract: "Find and end the sessions of one user or one device.",
        subcommands: [SupportSessionListCommand.self, SupportSessionEndCommand.self])
}

/// One user, or the device of one session, and why someone looks.
struct SupportSelection: ParsableArguments {
    @OptionGroup var provider: IssuerOption

    @Option(parsing: .unconditional, help: "The user: `sub` as the identity provider writes it.")
    var sub: Subject?

    @Option(help: "The sessions on the device of this session, by its `session_id`.")
    var deviceOf: UniqueID?

    @Option(help: "Why, such as the number of a ticket. It is in the audit.")
    var reason: String

    mutating func validate() throws {
        guard (sub == nil) != (deviceOf == nil) else { throw ValidationError("Give --sub or --device-of.") }
        guard provider.issuer == nil || sub != nil else { throw ValidationError("--issuer needs --sub.") }
        try ReasonOption.check(reason)
    }

    func selection(_ options: GlobalOptions) throws -> SupportedSelection {
        if let deviceOf { return .device(ofSession: deviceOf) }
        guard let sub else { throw CommandFailure.usage("give --sub or --device-of") }
        return .user(try provider.issuer(options), sub)
    }
}

extension GlobalOptions {
    /// Runs a command as the support desk.
    fileprivate func support<Value: Sendable>(
        _ reason: String, _ body: (Administration, AdministrativeAct) async throws -> Value
    ) async throws -> Value {
        var why = ReasonOption()
        why.reason = reason
        let act = act(why)
        do {
            return try await administer { try await body($0, act) }
        } catch AdministrationError.database(.server(let state, _, _)) where state.code == "42501" {
            throw CommandFailure.infrastructure(
                "the database user is no member of the role native_sso_support: give the connection of one that is in "
                    + "NATIVE_SSO_DATABASE_URL or in a configuration of its own (--config)")
        }
    }
}

struct SupportSessionListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the sessions, the newest first, ended ones too.")

    @OptionGroup var which: SupportSelection
    @OptionGroup var options: GlobalOptions

    func run() async throws {
        let selection = try which.selection(options)
        let sessions = try await options.support(which.reason) { try await $0.supportedSessions(selection, $1) }
        let table = Table("sessions", sessions) {
            [
                "session_id": .text($0.id.description), "issuer": .text($0.issuer.string),
                "sub": Cell($0.subject?.string), "apps": .list($0.clients), "created_at": .instant($0.createdAt),
                "last_used_at": .instant($0.lastUsedAt), "expires_at": .instant($0.expiresAt),
                "ended_at": Cell($0.endedAt), "end_reason": Cell($0.endReason),
            ]
        }
        try options.output.show(table)
    }
}

struct SupportSessionEndCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "end", abstract: "End the live sessions. The user must log in again at the identity provider.",
        discussion: "Without --execute it shows them only, and that look is in the audit too.")

    @OptionGroup var which: SupportSelection

    @Flag(help: "Let a new id_token of the same login begin a new session.")
    var sameLoginMayReturn = false

    @Flag(help: "Carry it out. Without this flag, only show what would change.")
    var execute = false

    @OptionGroup var options: GlobalOptions

    func run() async throws {
        let selection = try which.selection(options)
        let now = SystemClock().now
        let (live, ended) = try await options.support(which.reason) {
            registry, act -> ([SupportedSession], [UniqueID]) in
            guard !execute else {
                // No end is left out because of the limit of one call.
                var ended: [UniqueID] = []
                while true {
                    let batch = try await registry.endSupported(
                        selection, sameLoginMayReturn: sameLoginMayReturn, act)
                    ended += batch
                    if batch.count < 1000 { return ([], ended) }
                }
            }
            return (try await registry.supportedSessions(selection, act).filter { $0.isLive(at: now) }, [])
        }
        let found = execute ? ended.count : live.count
        guard found > 0 else { throw CommandFailure.notFound("no such session is live") }
        let users = Set(live.map(\.subject)).count
        let names = execute ? ended.map(\.description) : live.map { "\($0.id) with \($0.clients.count.counted("app"))" }
        let record: Record = [
            "ended": .flag(execute), "count": .number(Int64(found)), "sessions": .list(names),
        ]
        try options.output.show(record)
        if !execute {
            let login = sameLoginMayReturn ? "no login page" : "a login page for \(users.counted("user"))"
            options.output.warn(["Nothing was changed. It would mean \(login). Add --execute to do it."])
        }
    }
}

struct SupportExplainCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain", abstract: "Explain a request of an app by its X-Request-Id.",
        discussion: "Apps learn less about a refusal than this command prints. Do not pass its output on to them.")

    @Argument(help: "The X-Request-Id of an answer.") var requestID: UniqueID

    @Option(help: "Why, such as the number of a ticket. It is in the audit.")
    var reason: String

    @OptionGroup var options: GlobalOptions

    mutating func validate() throws { try ReasonOption.check(reason) }

    func run() async throws {
        let records = try await options.support(reason) { try await $0.explainSupported(requestID, $1) }
        guard !records.isEmpty else { throw CommandFailure.notFound(ExplainCommand.nothingRecorded) }
        try options.output.show(RequestReport(requestID: requestID, records: records))
    }
}
