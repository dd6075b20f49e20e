import ArgumentParser
import NativeSSO
package import Registry
import StrictCoding

struct AccountCommand: CommandGroup {
    static let configuration = CommandConfiguration(
        commandName: "account",
        abstract: "List and enable accounts that an identity provider disabled by a security event.",
        subcommands: [AccountListCommand.self, AccountEnableCommand.self])
}

struct AccountListCommand: RegistryCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List disabled accounts, the last disabled first.")

    @Option(help: "Only accounts of this identity provider.")
    var issuer: Issuer?

    @OptionGroup var page: PageOptions<DisabledAccount.Position>
    @OptionGroup var options: GlobalOptions

    func result(_ registry: Administration) async throws -> Page {
        let accounts = try await registry.disabledAccounts(of: issuer, limit: page.limit, after: page.after)
        let table = Table("accounts", accounts, whenEmpty: "no account is disabled") {
            [
                "issuer": .text($0.issuer.string), "sub": .text($0.subject.string),
                "disabled_at": .instant($0.disabledAt),
            ]
        }
        return page.page(accounts, position: \.position, table)
    }
}

struct AccountEnableCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "enable", abstract: "Let the user of a disabled account log in again.",
        discussion: """
            For an identity provider that sends no `account-enabled`. An `account-disabled` with a later time disables the \
            account again.
            """)

    @OptionGroup var provider: IssuerOption

    @Option(parsing: .unconditional, help: "The user: `sub` as the identity provider writes it.")
    var sub: Subject

    @OptionGroup var execution: ExecutionOptions
    @OptionGroup var options: GlobalOptions

    func run() async throws {
        let issuer = try provider.issuer(options)
        let found = try await options.administer { try await $0.disabledAccounts(of: issuer, sub, limit: 1) }
        guard let account = found.first else { throw CommandFailure.refused("the account is not disabled") }
        let plan = Plan(
            "enable the account \(sub) of \(issuer)",
            consequences: [
                "it has been disabled since \(account.disabledAt.rfc3339)",
                "the user may log in again; sessions that ended stay ended",
            ])
        try await execution.carryOut(plan, options) { try await $0.enable(account, $1) }
    }
}

/// The place of an account in the listing, as one word.
extension DisabledAccount.Position: ExpressibleByArgument, CustomStringConvertible {
    package init?(argument: String) {
        guard let octets = Base64URL.decode(argument), let text = String(validating: octets, as: UTF8.self) else {
            return nil
        }
        let parts = text.split(separator: " ", maxSplits: 2).map(String.init)
        guard parts.count == 3, let seconds = Int64(parts[0]), let issuer = Issuer(parts[1]),
            let subject = Subject(parts[2])
        else { return nil }
        self.init(disabledAt: UnixTime(seconds: seconds), issuer: issuer, subject: subject)
    }

    package var description: String {
        Base64URL.encode(Array("\(disabledAt.seconds) \(issuer) \(subject)".utf8))
    }
}
