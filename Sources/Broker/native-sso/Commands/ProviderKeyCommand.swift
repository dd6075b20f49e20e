import ArgumentParser
import NativeSSO
import Registry
import StrictCoding

struct ProviderKeyCommand: CommandGroup {
    static let configuration = CommandConfiguration(
        commandName: "idp-key", abstract: "Show and revoke the keys of identity providers.",
        subcommands: [ProviderKeyListCommand.self, ProviderKeyRevokeCommand.self])
}

struct ProviderKeyListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List every key that the provider has published, and when.")

    @OptionGroup var provider: IssuerOption
    @OptionGroup var options: GlobalOptions

    func run() async throws {
        let issuer = try provider.issuer(options)
        let keys = try await options.administer { try await $0.providerKeys(of: issuer) }
        let table = Table("keys", keys) {
            [
                "thumbprint": .text($0.thumbprint), "kid": Cell($0.kid), "alg": Cell($0.algorithm),
                "first_seen_at": .instant($0.firstSeenAt), "last_seen_at": .instant($0.lastSeenAt),
                "revoked_at": Cell($0.revokedAt),
            ]
        }
        try options.output.show(table)
    }
}

struct ProviderKeyRevokeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke", abstract: "Refuse every token of this key for good, on every broker.",
        discussion: "Without this, a key that left the key set still verifies id_tokens from its time.")

    @Argument(help: "The key's thumbprint or kid, as `idp-key list` shows it.") var key: String
    @OptionGroup var provider: IssuerOption
    @OptionGroup var execution: ExecutionOptions
    @OptionGroup var options: GlobalOptions

    func run() async throws {
        let issuer = try provider.issuer(options)
        let keys = try await options.administer { try await $0.providerKeys(of: issuer) }
        let named = keys.filter { $0.thumbprint.hasSameOctets(as: key) || $0.kid?.hasSameOctets(as: key) == true }
        let thumbprints = Set(named.map(\.thumbprint))
        guard let thumbprint = thumbprints.first else {
            throw CommandFailure.notFound("\(issuer) has published no key \(key); to see them: native-sso idp-key list")
        }
        guard thumbprints.count == 1 else {
            throw CommandFailure.refused("the provider has used this kid for several keys; give the thumbprint")
        }
        // The brokers could not tell which key is revoked, and would take no login of the provider.
        guard Base64URL.decode(thumbprint)?.count == 32 else {
            throw CommandFailure.refused("\(thumbprint) is not the thumbprint of a key; no broker uses it")
        }
        guard named.allSatisfy({ $0.revokedAt == nil }) else {
            throw CommandFailure.refused("the key is revoked already")
        }
        // The database does not record which key signed an id_token.
        let since = named.map(\.firstSeenAt).min()
        let grants = try await options.administer { try await $0.liveCount(issuer: issuer, since: since) }
        let plan = Plan(
            "revoke the key \(thumbprint) of \(issuer)",
            consequences: [
                "every login whose id_token it signed must be made anew: at most those with \(grants.words)",
                "it cannot be taken back",
            ])
        try await execution.carryOut(plan, options) { try await $0.revokeProviderKey(thumbprint, of: issuer, $1) }
    }
}
