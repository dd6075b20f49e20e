import ArgumentParser
import BrokerHTTP
import KeyModule
import NativeSSO
import PostgresClient
import Registry

struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor", abstract: "Check everything that a broker needs, and say what to do.",
        discussion: """
            Checks the configuration, this machine, the database, its schema, the keys, and each identity provider. Run it \
            as the broker's user with the broker's configuration. It changes nothing. For monitoring: the exit status is \
            1 if there are warnings only, and 3 if a check failed.
            """)

    @OptionGroup var options: GlobalOptions

    func run() async throws {
        let report = DoctorReport(findings: try await Progress.showing("check") { try await findings() })
        try options.output.show(report)
        guard let complaint = report.complaint else { return }
        throw report.count(.failed) == 0 ? CommandFailure.refused(complaint) : .infrastructure(complaint)
    }

    private func findings() async throws -> [Finding] {
        var findings: [Finding] = []
        let configuration = Self.configuration(options, &findings)
        findings += HostDoctor.process(configuration)
        if let configuration {
            findings +=
                await HostDoctor.listeners(configuration) + HostDoctor.certificates(configuration)
                + [HostDoctor.proxies(configuration), HostDoctor.stateDirectory(configuration.database)]
        }
        // The database and the keys may be fine where another part of the file is not.
        if let database = configuration?.database ?? (try? options.read { $0.database() }) {
            let rotation = configuration.map { KeyRotation($0.sessions, $0.identityProviders) }
            let keys = configuration?.keys ?? (try? options.read { $0.keys() })
            findings += await DatabaseDoctor(database: database).findings { pool in
                var findings: [Finding] = []
                if let configuration { findings += await Self.names(configuration, pool) }
                if let keys { findings += await KeyDoctor(keys: keys, rotation: rotation).findings(pool) }
                return findings
            }
        }
        for provider in configuration?.identityProviders ?? [] where !provider.isDisabled {
            let doctor = ProviderDoctor(provider: provider, isDevelopment: configuration?.isDevelopment == true)
            findings += await doctor.findings()
        }
        return findings
    }

    /// `nil` if it has problems, which are findings.
    private static func configuration(_ options: GlobalOptions, _ findings: inout [Finding]) -> Configuration? {
        func finding(_ problem: ConfigurationProblem, isWarning: Bool) -> Finding {
            Finding(
                "configuration", false, isWarning ? .warning : .failed,
                seen: problem.line(file: options.config), expected: "a configuration without problems",
                remedy: "correct it as the message says; native-sso config check lists all of them")
        }
        do throws(ConfigurationError) {
            let result = try options.readConfiguration()
            // Certificates have a check of their own.
            let warnings = result.warnings.filter { !$0.place.key.hasSuffix("tls.certificate") }
            findings += warnings.map { finding($0, isWarning: true) }
            if warnings.isEmpty {
                findings.append(
                    Finding("configuration", true, seen: "\(options.config) has no problem", expected: "", remedy: ""))
            }
            return result.configuration
        } catch {
            findings += error.problems.map { finding($0, isWarning: false) }
            return nil
        }
    }

    /// The names of users: see ``StartChecks``.
    private static func names(_ configuration: Configuration, _ pool: ConnectionPool) async -> [Finding] {
        guard let used = try? await SubjectPrefixStore(database: pool).inUse() else { return [] }
        return Finding.each(
            "identity_provider.names", configuration.conflicts(withPrefixesInUse: used).map(\.sentence),
            expected: "users keep the names that APIs know",
            remedy: "restore the prefix; see native-sso subject-prefix list")
    }
}

/// What `doctor` says of the keys, by the rules of `key doctor` and `key rotate`.
struct KeyDoctor {
    let keys: Configuration.Keys
    /// `nil`: the waiting times are not known.
    let rotation: KeyRotation?

    func findings(_ pool: ConnectionPool) async -> [Finding] {
        let provider: any KeyProvider
        do throws(KeyError) {
            provider = try keys.provider()
            try provider.check()
        } catch {
            return [Self.store(error.description)]
        }
        let rows: SigningKeys
        do throws(PortError) {
            rows = try await SigningKeyStore(database: pool).keys()
        } catch {
            return [Self.store("the registry of keys cannot be read: \(error)")]
        }
        let complaints = await KeySet(rows.records, of: keys.replica, from: provider).complaints(about: rows)
        let usable = Finding.each(
            "keys.usable", complaints, expected: "every key that signs, will sign or verifies is here",
            remedy: "look at native-sso key doctor, as the broker's user")
        return [Self.store(nil)] + usable + overdue(rows.records)
    }

    private static func store(_ problem: String?) -> Finding {
        Finding(
            "keys.store", problem == nil, seen: problem ?? "the keys can be read, by their owner alone",
            expected: "keys that this user alone can read",
            remedy: "run doctor as the broker's user, or repair it")
    }

    /// Keys for which `key rotate` would do something.
    private func overdue(_ records: [KeyRecord]) -> [Finding] {
        guard let rotation else { return [] }
        let active = records.filter {
            $0.state == .active && $0.use != .device && $0.replica == keys.replica(for: $0.use)
        }
        let late = active.filter { key in
            let due = rotation.due(
                key.use, key.algorithm, of: keys.replica(for: key.use), among: records,
                every: KeyRotation.standardPeriod, at: SystemClock().now)
            return switch due {
            // A suspended key is a finding of its own, and key rotate waits for it to be resumed.
            case .wait, .suspended: false
            case .generate, .pending, .take: true
            }
        }
        let kinds = Set(late.map { "\($0.algorithm.rawValue) for \($0.use.rawValue)" }).sorted()
        return [
            Finding(
                "keys.rotation", late.isEmpty, .warning,
                seen: late.isEmpty ? "no rotation is due" : "a step is due: \(kinds.joined(separator: ", "))",
                expected: "a key signs for at most \(DurationText.format(KeyRotation.standardPeriod))",
                remedy: "type: native-sso key rotate, and let a timer do it")
        ]
    }
}

extension KeyRotation {
    /// How long a key signs by default.
    static let standardPeriod = Seconds.days(90)
}
