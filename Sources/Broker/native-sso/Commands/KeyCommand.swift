import ArgumentParser
import KeyModule
import NativeSSO
import PostgresClient
import Registry
import StrictCoding

struct KeyCommand: CommandGroup {
    static let configuration = CommandConfiguration(
        commandName: "key", abstract: "Manage the broker's own keys.",
        subcommands: [
            KeyGenerateCommand.self, KeyListCommand.self, KeyPublishCommand.self, KeyActivateCommand.self,
            KeyRetireCommand.self, KeyRemoveCommand.self, KeyRotateCommand.self, KeyInstallCommand.self,
            KeyDoctorCommand.self, KeySyncCommand.self, KeySuspendCommand.self, KeyResumeCommand.self,
        ])
}

struct KeyListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List keys, and whether this machine can use them.")

    @OptionGroup var options: GlobalOptions

    func run() async throws {
        let keys = try options.read { $0.keys() }
        let provider = try keys.provider()
        let rows = try await options.administer { try await $0.keys() }
        let files = await Files(rows.records, of: keys.replica, provider)
        let table = Table("keys", rows.records) {
            [
                "kid": .text($0.kid), "use": .text($0.use.rawValue), "algorithm": .text($0.algorithm.rawValue),
                "state": .text($0.state.rawValue),
                "created_at": .instant($0.createdAt), "published_at": Cell($0.publishedAt),
                "activated_at": Cell($0.activatedAt), "retired_at": Cell($0.retiredAt),
                "suspended_at": Cell($0.suspendedAt), "replica": Cell($0.replica),
                "usable_here": files.isUsable($0),
            ]
        }
        try options.output.show(table)
        options.output.warn(
            files.warnings + rows.unknown.keys.sorted().map { "key \($0) is of a kind that this version does not know" }
        )
    }

    /// The key files of this machine, as far as this user can read them.
    private struct Files {
        /// `nil`: they belong to another user, who may be the broker's.
        let problems: [KeySet.Problem]?
        let warnings: [String]

        init(_ records: [KeyRecord], of replica: String?, _ provider: any KeyProvider) async {
            do throws(KeyError) {
                try provider.check()
            } catch .file(let path, .wrongOwner(let uid, _)) where uid != 0 {
                problems = nil
                warnings = [
                    "\(path) belongs to user \(uid): whether the keys are usable cannot be judged from this account"
                ]
                return
            } catch {
                // The key set below reports it for each key.
            }
            let found = await KeySet(records, of: replica, from: provider).problems
            problems = found
            warnings = found.map(\.description)
        }

        func isUsable(_ record: KeyRecord) -> Cell {
            problems.map { problems in .flag(!problems.contains { $0.kid == record.kid }) } ?? .none
        }
    }
}

struct KeyGenerateCommand: RegistryCommand {
    static let configuration = CommandConfiguration(
        commandName: "generate", abstract: "Create keys and register them.",
        discussion: """
            The private part is written to the key directory of this machine. Copy it to the key directory of every \
            broker. With `keys.pkcs11` a signing key is made in the token instead, and never leaves it. The first key of a use is active at once; a later one is published at once, also one of another \
            algorithm. To copy the file first, use --pending, and publish the key afterwards.

            Run this command as the broker's user, so that the broker can read the files, or by native-sso-admin.
            """)

    enum Target: String, ExpressibleByArgument, CaseIterable {
        case accessToken = "access-token"
        case refreshToken = "refresh-token"
        case device
        /// Each use that has no active key.
        case all

        var use: KeyUse? { KeyUse(rawValue: rawValue) }
    }

    @Option(help: "Key use. `all` creates every missing key.") var use = Target.all
    @Option(help: "Algorithm of an access-token key.") var algorithm = KeyAlgorithm.es256
    @Option(help: "Size of an RSA key in bits: 2048, 3072 or 4096.") var bits = KeyGenerator.defaultModulusBits
    @Flag(help: "Do not publish the key yet. Publish it later with `key publish`.") var pending = false
    @OptionGroup var why: ReasonOption
    @OptionGroup var options: GlobalOptions

    mutating func validate() throws {
        guard [2048, 3072, 4096].contains(bits) else { throw ValidationError("--bits is 2048, 3072 or 4096.") }
    }

    func result(_ registry: Administration) async throws -> Table {
        let (keys, provider) = try options.keyStore()
        let existing = try await registry.keys().records
        var made: [KeyRecord] = []
        for use in try uses(existing) {
            let key = try await KeyGenerator(provider: provider).generate(
                use, algorithm: algorithm, modulusBits: bits, beside: existing)
            made.append(
                try await registry.register(
                    key, use, of: keys.replica(for: use), provider, isPending: pending, options.act(why)))
        }
        return Table("keys", made) {
            [
                "kid": .text($0.kid), "use": .text($0.use.rawValue), "algorithm": .text($0.algorithm.rawValue),
                "state": .text($0.state.rawValue), "file": .text($0.reference),
            ]
        }
    }

    private func uses(_ existing: [KeyRecord]) throws(CommandFailure) -> [KeyUse] {
        if let use = use.use { return [use] }
        let missing = KeyUse.allCases.filter { use in !existing.contains { $0.use == use && $0.state == .active } }
        guard !missing.isEmpty else {
            throw .refused("every use has an active key; say with --use for which to make a successor")
        }
        return missing
    }
}

extension Administration {
    /// Registers the key. If that certainly failed, destroys the private part: without a record no broker uses it.
    @discardableResult
    func register(
        _ key: GeneratedKey, _ use: KeyUse, of replica: String?, _ provider: any KeyProvider,
        isPending: Bool = false, _ act: AdministrativeAct
    ) async throws(AdministrationError) -> KeyRecord {
        func record(_ state: KeyState) -> KeyRecord {
            KeyRecord(
                kid: key.kid, use: use, algorithm: key.algorithm, reference: key.reference, publicJWK: key.publicJWK,
                state: state, createdAt: SystemClock().now, replica: replica)
        }
        do throws(AdministrationError) {
            return record(try await addKey(record(.pending), isPending: isPending, act))
        } catch {
            if case .database(.outcomeUnknown) = error { throw error }
            try? await provider.destroy(record(.pending))
            throw error
        }
    }
}
