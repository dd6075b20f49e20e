import ArgumentParser
import NativeSSO
import Registry

/// `native-sso idp-key`
struct ProviderKeyCommand: CommandGroup {
    static let configuration = CommandConfiguration(
        commandName: "idp-key", abstract: "The keys that identity providers have signed with.",
        subcommands: [ProviderKeyListCommand.self, ProviderKeyRevokeCommand.self])
}

/// `native-sso idp-key list`
struct ProviderKeyListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "Every key that the provider's key set has shown, with its life.")

    @Option(help: "The identity provider; may be left out where the configuration has only one.")
    var issuer: Issuer?

    @OptionGroup var options: GlobalOptions

    func run() async throws {
        let issuer = try options.configuration().issuer(issuer)
        let keys = try await options.administer { registry throws(AdministrationError) in
            try await registry.providerKeys(of: issuer)
        }
        var table = Table(
            "keys", columns: ["thumbprint", "kid", "alg", "first_seen_at", "last_seen_at", "revoked_at"])
        for key in keys {
            table.append([
                .text(key.thumbprint), Cell(key.kid), Cell(key.algorithm), .instant(key.firstSeenAt),
                .instant(key.lastSeenAt), Cell(key.revokedAt),
            ])
        }
        try options.output.show(table)
    }
}

/// `native-sso idp-key revoke`
struct ProviderKeyRevokeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke", abstract: "Accept no token by this key any more, on any broker, for good.",
        discussion: "A key that only left the provider's key set goes on verifying the id_tokens of its time.")

    @Argument(help: "The key's thumbprint or kid, as `idp-key list` has it.") var key: String

    @Option(help: "The identity provider; may be left out where the configuration has only one.")
    var issuer: Issuer?

    @OptionGroup var execution: ExecutionOptions
    @OptionGroup var options: GlobalOptions

    func run() async throws {
        let issuer = try options.configuration().issuer(issuer)
        let keys = try await options.administer { registry throws(AdministrationError) in
            try await registry.providerKeys(of: issuer)
        }
        let named = keys.filter { row in
            row.thumbprint.utf8.elementsEqual(key.utf8) || row.kid?.utf8.elementsEqual(key.utf8) == true
        }
        let thumbprints = Set(named.map(\.thumbprint))
        guard let thumbprint = thumbprints.first else { throw CommandFailure.notFound("this key of \(issuer)") }
        guard thumbprints.count == 1 else {
            throw CommandFailure.refused("the provider has used this kid for several keys; give the thumbprint")
        }
        guard named.allSatisfy({ $0.revokedAt == nil }) else {
            throw CommandFailure.refused("the key is revoked already")
        }
        let plan = Plan(
            "revoke the key \(thumbprint) of \(issuer)",
            consequences: [
                "every login whose id_token it signed must be made anew", "it cannot be taken back",
            ])
        try await execution.carryOut(plan, options) { act throws(CommandFailure) in
            try await options.administer { registry throws(AdministrationError) in
                try await registry.revokeProviderKey(thumbprint, of: issuer, act)
            }
        }
    }
}
