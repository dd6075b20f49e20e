import ArgumentParser
import NativeSSO
import Registry
import StrictCoding

/// `native-sso client secret`
struct ClientSecretCommand: CommandGroup {
    static let configuration = CommandConfiguration(
        commandName: "secret", abstract: "The secrets of a client of client_secret_basic.",
        discussion: """
            A client has two at most, so that one is replaced without an outage: rotate, give the client the new one, and when \
            it uses that everywhere, retire the old one.
            """,
        subcommands: [ClientSecretRotateCommand.self, ClientSecretListCommand.self, ClientSecretRetireCommand.self])
}

/// `native-sso client secret rotate`
struct ClientSecretRotateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rotate", abstract: "Make a secret, and show it this once. The one before stays good.",
        discussion: "Only a digest is kept: a secret that is lost is replaced.")

    @Argument(help: "The client.") var client: ClientID
    @OptionGroup var why: ReasonOption
    @OptionGroup var options: GlobalOptions

    func run() async throws {
        var randomness = SystemRandomNumberGenerator()
        let secret = ClientSecret(using: &randomness)
        try await options.administer { registry in
            let live = try await registry.liveSecrets(of: client)
            guard live.count < 2 else {
                throw AdministrationError.refused(
                    "client \(client) has two secrets; when it uses the newer one everywhere, type: "
                        + "native-sso client secret retire \(client) \(live[0].digest.label)")
            }
            try await registry.addSecret(secret.digest, to: client, options.act(why))
        }
        let record: Record = [
            "client_id": .text(client.string), "digest": .text(secret.digest.label),
            "client_secret": .text(secret.secret),
        ]
        try options.output.show(record)
    }
}

/// `native-sso client secret list`
struct ClientSecretListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "The live secrets of a client, the older first, by the first digits of their SHA-256.")

    @Argument(help: "The client.") var client: ClientID
    @OptionGroup var options: GlobalOptions

    func run() async throws {
        let secrets = try await options.administer { try await $0.liveSecrets(of: client) }
        let rows: [Record] = secrets.map {
            ["digest": .text($0.digest.label), "created_at": .instant($0.createdAt)]
        }
        try options.output.show(Table("secrets", rows))
    }
}

/// `native-sso client secret retire`
struct ClientSecretRetireCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retire", abstract: "Refuse a secret from now on: every broker does within seconds.")

    @Argument(help: "The client.") var client: ClientID
    @Argument(help: "The secret, by the digest that client secret list shows.") var secret: String
    @OptionGroup var execution: ExecutionOptions
    @OptionGroup var options: GlobalOptions

    func run() async throws {
        let live = try await options.administer { try await $0.liveSecrets(of: client) }
        guard let digest = live.first(where: { $0.digest.label.hasSameOctets(as: secret) })?.digest else {
            throw AdministrationError.notFound("secret \(secret) of client \(client)")
        }
        let plan = Plan(
            "retire secret \(secret) of client \(client)",
            consequences: live.count == 1 ? ["it is the only one: the client can do nothing until it has another"] : [])
        try await execution.carryOut(plan, options) { try await $0.retireSecret(digest, of: client, $1) }
    }
}

extension Administration {
    /// The live secrets of a client, which is one of `client_secret_basic`.
    fileprivate func liveSecrets(of id: ClientID) async throws(AdministrationError) -> [RegisteredSecret] {
        try await require(id, .clientSecretBasic)
        return try await secrets(of: id)
    }
}
