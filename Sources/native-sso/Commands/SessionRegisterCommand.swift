import ArgumentParser
import NativeSSO
import Registry

/// `native-sso session register`
struct SessionRegisterCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "register", abstract: "Bring a login in before any app comes with it.",
        discussion: """
            Safe to repeat. A login that its identity provider ended before stays over: exit 1. A session that is there \
            already learns by what `sid` the logout will name it, once.
            """)

    @OptionGroup var provider: IssuerOption

    @Option(parsing: .unconditional, help: "The session's `sid`, as the id_tokens of the apps will have it.")
    var sid: SessionID

    @Option(parsing: .unconditional, help: "The user.")
    var sub: Subject

    @Option(help: "The client that logs the user in.")
    var client: ClientID?

    @Option(help: "When the user logged in, in seconds since 1970, as in the id_token.")
    var authTime: Int64?

    @Option(help: "`acr` of the id_token.")
    var acr: String?

    @Option(parsing: .upToNextOption, help: "`amr` of the id_token.")
    var amr: [String] = []

    @Option(help: "For how long at most; sessions.absolute of the configuration where it is not given.")
    var lifetime: Seconds?

    @Option(help: "The issuer as its logout will say, where it is another.")
    var idpIssuer: Issuer?

    @Option(parsing: .unconditional, help: "The `sid` as the logout will say, where it is another.")
    var idpSID: SessionID?

    @OptionGroup var why: ReasonOption
    @OptionGroup var options: GlobalOptions

    mutating func validate() throws {
        if let authTime, authTime < 0 { throw ValidationError("--auth-time is from 1970 on.") }
        if let lifetime, lifetime > .days(400) { throw ValidationError("--lifetime is 400d at most.") }
    }

    func run() async throws {
        let configuration = try options.configuration()
        let session = SessionRegistration(
            issuer: try provider.issuer(configuration), sessionID: sid, subject: sub, sourceClient: client,
            login: Login(
                authenticatedAt: authTime.map(UnixTime.init(seconds:)), contextClass: acr, methods: amr),
            lifetime: lifetime ?? configuration.sessions.absolute, providerIssuer: idpIssuer,
            providerSessionID: idpSID)
        let answer = try await options.administer { try await $0.register(session, options.act(why)) }
        switch answer.outcome {
        case .registered, .known, .mapped:
            let record: Record = [
                "outcome": .text(answer.outcome.rawValue), "session_id": .text(answer.id.description),
            ]
            try options.output.show(record)
        case .ended: throw CommandFailure.refused("the session is over, and stays over")
        case .taken: throw CommandFailure.refused("the sid is that of another user's session")
        case .mappedOtherwise:
            throw CommandFailure.refused("the session is known by another issuer or sid to its provider's logout")
        }
    }
}
