import ArgumentParser
import KeyModule
import NativeSSO
import Registry
import StrictCoding

struct KeyPublishCommand: KeyStepCommand {
    static let configuration = CommandConfiguration(
        commandName: "publish", abstract: "Publish a pending key, so that verifiers can learn it before it signs.",
        discussion: "First copy the key file to every broker.")

    static let step = KeyRotation.Step.publish
    @OptionGroup var key: KeyArgument
    var isForced: Bool { false }
    @OptionGroup var execution: ExecutionOptions
    @OptionGroup var options: GlobalOptions
}

struct KeyActivateCommand: KeyStepCommand {
    static let configuration = CommandConfiguration(
        commandName: "activate", abstract: "Use a published key from now on, and retire its predecessor.",
        discussion: "Publish the key 24 h before, so that every verifier has fetched it.")

    static let step = KeyRotation.Step.activate
    @OptionGroup var key: KeyArgument
    @OptionGroup var force: ForceOption
    var isForced: Bool { force.force }
    @OptionGroup var execution: ExecutionOptions
    @OptionGroup var options: GlobalOptions
}

struct KeyRetireCommand: KeyStepCommand {
    static let configuration = CommandConfiguration(
        commandName: "retire", abstract: "Stop using a key. What it signed stays valid.",
        discussion: "To retire the active key, activate its successor. Without a successor, use --force.")

    static let step = KeyRotation.Step.retire
    @OptionGroup var key: KeyArgument
    @OptionGroup var force: ForceOption
    var isForced: Bool { force.force }
    @OptionGroup var execution: ExecutionOptions
    @OptionGroup var options: GlobalOptions
}

struct KeyRemoveCommand: KeyStepCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Remove a key for good. Everything that it signed becomes invalid.",
        discussion: """
            Allowed once nothing that it signed can be in use. For a stolen key, use --compromised: it also revokes the \
            token families that depend on the key, so that their apps log in again.
            """)

    static let step = KeyRotation.Step.remove
    @OptionGroup var key: KeyArgument
    @OptionGroup var force: ForceOption
    @Flag(help: "The key is stolen: do not wait, and revoke every token family that depends on it.")
    var compromised = false
    var isForced: Bool { force.force || compromised }
    var endsFamilies: Bool { compromised }
    @OptionGroup var execution: ExecutionOptions
    @OptionGroup var options: GlobalOptions
}

struct KeyArgument: ParsableArguments {
    static let help: ArgumentHelp =
        "The kid, as `key list` shows it. Write `--` before a kid that begins with a hyphen."

    @Argument(help: KeyArgument.help, completion: Candidates.kids) var kid: String
}

/// For a key that may be compromised.
struct ForceOption: ParsableArguments {
    @Flag(help: "Skip the waiting period that protects tokens still in use.")
    var force = false
}

/// One step in the life of a key, as an operator takes it. The rules are the key module's.
protocol KeyStepCommand: AsyncParsableCommand {
    static var step: KeyRotation.Step { get }
    var key: KeyArgument { get }
    var isForced: Bool { get }
    /// Whether the token families that depend on the key are revoked.
    var endsFamilies: Bool { get }
    var execution: ExecutionOptions { get }
    var options: GlobalOptions { get }
}

extension KeyStepCommand {
    var endsFamilies: Bool { false }

    func run() async throws {
        let provider = try options.keyStore().provider
        let removes = Self.step == .remove
        let (rotation, standard) = try options.read(openingFiles: false) {
            (KeyRotation(reading: $0), removes ? $0.tokens().access : 0)
        }
        let (key, before, after, ended, dependents) = try await options.administer { registry in
            let (key, before, after) = try await steps(rotation, registry)
            var dependents: KeyDependents?
            if removes {
                let life = try await registry.longestAccessTokenLife(standard)
                dependents = try await registry.dependents(of: key, accessTokenLife: life)
            }
            return (
                key, before, after, endsFamilies ? try await registry.families(dependingOn: key).count : nil, dependents
            )
        }
        let transitions = KeyTransition.all(from: before, to: after)
        try await execution.carryOut(plan(key, after, ending: ended, dependents), options) { registry, act in
            // Before the removal, so that the command can be repeated if it is interrupted. Afterwards again, for what
            // the key made in the meantime.
            if endsFamilies { try await revokeFamilies(of: key, registry, act) }
            try await registry.move(transitions, isForced: isForced, act)
            if endsFamilies { try await revokeFamilies(of: key, registry, act) }
            if Self.step == .remove { await destroy(key, provider) }
        }
    }

    private func revokeFamilies(of key: KeyRecord, _ registry: Administration, _ act: AdministrativeAct) async throws {
        _ = try await registry.revoke(try await registry.families(dependingOn: key), act)
    }

    /// The key, all keys before the step, and the changed keys after it.
    private func steps(
        _ rotation: KeyRotation, _ registry: Administration
    ) async throws -> (key: KeyRecord, before: [KeyRecord], after: [KeyRecord]) {
        let rows = try await registry.keys()
        let now = try await registry.now()
        let kid = key.kid
        let records = rows.records
        guard let key = records.first(where: { $0.kid.hasSameOctets(as: kid) }) else {
            throw rows.unknown[kid] == nil
                ? CommandFailure.notFound("key \(kid) does not exist, or was removed")
                : CommandFailure.refused("key \(kid) is of a kind that this version does not know")
        }
        try await check(key, registry)
        do throws(KeyRotation.Refusal) {
            return (
                key, records,
                try rotation.records(after: Self.step, of: key, among: records, at: now, isForced: isForced)
            )
        } catch {
            throw CommandFailure.refused(error.withHint)
        }
    }

    /// Refuses to take the active key from clients whose tokens need its algorithm.
    private func check(_ key: KeyRecord, _ registry: Administration) async throws {
        guard Self.step == .retire, key.state == .active, !isForced else { return }
        let clients = try await registry.clients().filter {
            [$0.accessTokenAlgorithm, $0.idTokenAlgorithm].contains(key.algorithm)
        }
        guard let first = clients.first else { return }
        throw CommandFailure.refused(
            "\(clients.count.counted("client")), \(first.id) among them, \(clients.count == 1 ? "signs" : "sign") with "
                + "\(key.algorithm.rawValue): first give another --signing-algorithm or --id-token-algorithm")
    }

    /// - Parameter families: How many are revoked; `nil`: none is looked for.
    private func plan(
        _ key: KeyRecord, _ after: [KeyRecord], ending families: Int?, _ dependents: KeyDependents?
    ) -> Plan {
        let retired = after.filter { $0.kid != key.kid }.map { "key \($0.kid) is retired by it" }
        return Plan(
            "\(Self.step.rawValue) the \(key.use.rawValue) key \(key.kid), which is \(key.state.rawValue)",
            consequences: retired + consequences(key) + (dependents?.words(for: key.use) ?? [])
                + (families.map {
                    [
                        "\($0.counted("live token family", plural: "live token families")) that \($0 == 1 ? "depends" : "depend") "
                            + "on it \($0 == 1 ? "is" : "are") revoked: their apps log in again"
                    ]
                } ?? []))
    }

    private func consequences(_ key: KeyRecord) -> [String] {
        switch Self.step {
        case .publish: ["every broker needs the file \(key.reference) by now"]
        case .activate:
            key.use == .accessToken
                ? [
                    "it signs for the clients whose --signing-algorithm is \(key.algorithm.rawValue), and for those without one "
                        + "unless an algorithm before it in \(KeyAlgorithm.signing.map(\.rawValue).joined(separator: ", ")) has "
                        + "an active key"
                ]
                : []
        case .retire:
            key.state == .active
                ? ["if no other \(key.use.rawValue) key is active, every token request is answered with 503"] : []
        case .remove:
            [
                key.use == .refreshToken
                    ? "every refresh token that it made is refused from then on (invalid_grant): its apps lose their login"
                    : "no token that it signed is good any more, as soon as its readers fetch the key set again",
                "the file \(key.reference) on this machine is destroyed; delete it on every other broker",
            ]
        }
    }

    /// The key is already out of use, so a failure to remove its file is only a warning.
    private func destroy(_ key: KeyRecord, _ provider: any KeyProvider) async {
        do throws(KeyError) {
            try await provider.destroy(key)
        } catch {
            options.output.warn(["warning: the private part of the key is still there: \(error)"])
        }
    }
}

extension KeyRotation.Refusal {
    /// The refusal, with a hint for the operator.
    fileprivate var withHint: String {
        switch self {
        case .publishedTooShortly(let until): "\(self): wait until \(until.rfc3339); --force does not wait"
        case .stillInUse(let until): "\(self) until \(until.rfc3339); --force does not wait"
        case .onlyActiveKey: "\(self); --force does not wait"
        case .wrongState(.pending, .activate): "\(self): publish it first, with native-sso key publish"
        case .wrongState(.pending, .retire): "\(self): it has made nothing; native-sso key remove takes it away"
        case .wrongState(.active, .remove):
            "\(self): activate its successor first, with native-sso key activate, which retires this one"
        case .wrongState, .deviceKey: "\(self)"
        }
    }
}
