import BrokerHTTP
import HTTPServer
import Logging
import NativeSSO
import PostgresClient
import Registry
import StrictCoding

/// Seals the audit each minute. The log line of a seal is a checkpoint outside the database.
struct AuditSealService: Sendable {
    static let interval: Duration = .seconds(60)

    private let sealer: AuditSealer
    private let logger: Logger
    private let sealed = Counter()
    private let failed = Counter()
    private let lost = Counter()
    private let changes: ChangeLog

    init(
        database: any StatementExecutor, authenticator: any RecordAuthenticator, clock: any WallClock, logger: Logger
    ) {
        sealer = AuditSealer(database: database, authenticator: authenticator, clock: clock)
        self.logger = logger
        changes = ChangeLog(logger)
    }

    func run() async {
        do throws(PortError) {
            let outcome = try await sealer.run()
            changes.note(nil, Self.failure)
            if let seal = outcome.lost {
                lost.add()
                logger.error(
                    "the database lost a seal of the audit",
                    metadata: [
                        "seal": .stringConvertible(Int(seal.number)), "chain": .string(Hexadecimal.encode(seal.chain)),
                        "remedy": "native-sso audit verify; the database was restored to an earlier moment, or changed",
                    ])
            }
            for seal in outcome.sealed {
                sealed.add()
                logger.info(
                    "audit sealed",
                    metadata: [
                        "seal": .stringConvertible(Int(seal.number)),
                        "events": .stringConvertible(Int(seal.events)),
                        "chain": .string(Hexadecimal.encode(seal.chain)),
                    ])
            }
        } catch {
            failed.add()
            changes.note("\(error)", Self.failure)
        }
    }

    private static let failure: Logger.Message = "the audit cannot be sealed"
}

extension AuditSealService: MetricSource {
    var samples: [MetricSample] {
        [("sealed", sealed), ("failed", failed), ("lost", lost)].map { outcome, counter in
            .counter(
                "audit_seals_total",
                "Seals of the audit by this broker. `lost`: the database no longer has the last seal that it saw.",
                counter.value, label: ("outcome", outcome))
        }
    }
}
