import ArgumentParser
import JOSE
import NativeSSO
import Registry
import StrictCoding

struct ClientSecretCommand: CommandGroup {
    static let configuration = CommandConfiguration(
        commandName: "secret", abstract: "Manage the secrets of a client_secret_basic client.",
        discussion: """
            A client has at most two, so that you can replace one without an outage. Rotate, give the client the new secret, \
            and retire the old one once the client no longer uses it.
            """,
        subcommands: [ClientSecretRotateCommand.self, ClientSecretListCommand.self, ClientSecretRetireCommand.self])
}

struct ClientSecretRotateCommand: RegistryCommand {
    static let configuration = CommandConfiguration(
        commandName: "rotate", abstract: "Create a secret and show it once. The previous one stays valid.",
        discussion: "The broker keeps only a digest. Replace a lost secret. No live grant is touched before `retire`.")

    @Argument(help: "The client.") var client: ClientID
    @OptionGroup var why: ReasonOption
    @OptionGroup var options: GlobalOptions

    func result(_ registry: Administration) async throws -> Record {
        let live = try await registry.liveSecrets(of: client)
        guard live.count < 2 else {
            throw AdministrationError.refused(
                "client \(client) has two secrets; when it uses the newer one everywhere, type: "
                    + "native-sso client secret retire \(client) \(live[0].digest.label)")
        }
        var randomness = SystemRandomNumberGenerator()
        let secret = ClientSecret(using: &randomness)
        try await registry.addSecret(secret.digest, to: client, options.act(why))
        return [
            "client_id": .text(client.string), "digest": .text(secret.digest.label),
            "client_secret": .text(secret.secret),
        ]
    }
}

struct ClientSecretListCommand: RegistryCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List valid secrets, the oldest first, by the first digits of their SHA-256.")

    @Argument(help: "The client.") var client: ClientID
    @OptionGroup var options: GlobalOptions

    func result(_ registry: Administration) async throws -> Table {
        Table("secrets", try await registry.liveSecrets(of: client)) {
            ["digest": .text($0.digest.label), "created_at": .instant($0.createdAt)]
        }
    }
}

struct ClientSecretRetireCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retire", abstract: "Refuse a secret from now on, on every broker within seconds.")

    @Argument(help: "The client.") var client: ClientID
    @Argument(help: "The secret's digest, as `client secret list` shows it.") var secret: String
    @OptionGroup var execution: ExecutionOptions
    @OptionGroup var options: GlobalOptions

    func run() async throws {
        let (live, grants) = try await options.administer { registry in
            (try await registry.liveSecrets(of: client), try await registry.liveCount(client: client))
        }
        guard let digest = live.first(where: { $0.digest.label.hasSameOctets(as: secret) })?.digest else {
            throw AdministrationError.notFound("secret \(secret) of client \(client)")
        }
        let plan = Plan(
            "retire secret \(secret) of client \(client)",
            consequences: [
                live.count == 1
                    ? "it is the only one: the client can do nothing until it has another"
                    : "requests with this secret are refused; the other one stays valid",
                "the client has \(grants.words)",
            ])
        try await execution.carryOut(plan, options) { try await $0.retireSecret(digest, of: client, $1) }
    }
}

extension Administration {
    /// Refuses a client that does not use `client_secret_basic`.
    fileprivate func liveSecrets(of id: ClientID) async throws(AdministrationError) -> [RegisteredSecret] {
        try await require(id, .clientSecretBasic)
        return try await secrets(of: id)
    }
}

struct ClientKeyCommand: CommandGroup {
    static let configuration = CommandConfiguration(
        commandName: "key", abstract: "Manage the public keys of a private_key_jwt client.",
        discussion: """
            To replace a key, add the new one, let the client sign with it, and remove the old one. Assertions name the \
            key by kid.
            """,
        subcommands: [ClientKeyAddCommand.self, ClientKeyListCommand.self, ClientKeyRemoveCommand.self])
}

struct ClientKeyAddCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add", abstract: "Register another public key of a client.",
        discussion: "The file holds one JWK without its private part. An RSA key needs `alg`.")

    @Argument(help: "The client.") var client: ClientID
    @Option(help: ArgumentHelp("The file with the JWK.", valueName: "jwk")) var file: String
    @Option(help: "The kid, if the JWK has none. By default its RFC 7638 thumbprint.") var kid: ClientKeyID?
    @Option(help: "The alg, if the JWK has none.") var algorithm: ClientKeyFile.Algorithm?
    @OptionGroup var why: ReasonOption
    @OptionGroup var options: GlobalOptions

    func run() async throws {
        let key = try ClientKeyFile(file, kid: kid, algorithm: algorithm?.signature)
        try await options.administer { registry in
            let present = try await registry.signingKeys(of: client).map(\.key)
            guard present.count < Self.mostKeys else {
                throw AdministrationError.refused(
                    "client \(client) has \(Self.mostKeys) keys; remove those that it does not use")
            }
            // After the removal of a stolen key, no copy of it may stay valid under another kid.
            if let same = present.first(where: { $0.id != key.registered.id && key.isSameKey(as: $0) }) {
                throw AdministrationError.alreadyExists("this key of client \(client), as \(same.id),")
            }
            try await registry.addKey(key.registered, to: client, options.act(why))
        }
        let record: Record = [
            "client_id": .text(client.string), "kid": .text(key.registered.id.string),
            "algorithm": .text(key.algorithm.rawValue),
        ]
        try options.output.show(record)
    }

    /// A few are enough for any rotation.
    private static let mostKeys = 8
}

struct ClientKeyListCommand: RegistryCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List a client's keys, the oldest first.")

    @Argument(help: "The client.") var client: ClientID
    @OptionGroup var options: GlobalOptions

    func result(_ registry: Administration) async throws -> Table {
        Table("keys", try await registry.signingKeys(of: client)) { key in
            let json = try? JSONReader.parse(key.key.publicJWK.utf8).object
            return [
                "kid": .text(key.key.id.string), "algorithm": Cell(json?.string("alg")),
                "created_at": .instant(key.createdAt),
            ]
        }
    }
}

struct ClientKeyRemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Refuse assertions of a key from now on, on every broker within seconds.")

    @Argument(help: "The client.") var client: ClientID
    @Argument(help: "The kid. Write `--` before a kid that begins with a hyphen.") var kid: ClientKeyID
    @OptionGroup var execution: ExecutionOptions
    @OptionGroup var options: GlobalOptions

    func run() async throws {
        let (keys, grants) = try await options.administer { registry in
            (try await registry.signingKeys(of: client), try await registry.liveCount(client: client))
        }
        guard keys.contains(where: { $0.key.id == kid }) else {
            throw AdministrationError.notFound("key \(kid) of client \(client)")
        }
        let plan = Plan(
            "remove key \(kid) of client \(client)",
            consequences: [
                keys.count == 1
                    ? "it is the only one: the client can do nothing until it has another"
                    : "assertions of this key are refused; \(keys.count - 1) other\(keys.count == 2 ? " stays" : "s stay") valid",
                "the client has \(grants.words)",
            ])
        try await execution.carryOut(plan, options) { try await $0.removeKey(kid, of: client, $1) }
    }
}

extension Administration {
    /// Refuses a client that does not use `private_key_jwt`.
    fileprivate func signingKeys(of id: ClientID) async throws(AdministrationError) -> [RegisteredClientKey] {
        try await require(id, .privateKeyJWT)
        return try await keys(of: id)
    }
}
