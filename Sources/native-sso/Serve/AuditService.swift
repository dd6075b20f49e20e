import Registry
import ServiceLifecycle

/// Writes audit events in the background, and when the broker stops, what is left of them.
struct AuditService: Service {
    let audit: PostgresAuditTrail

    func run() async {
        await withGracefulShutdownHandler {
            await audit.run()
        } onGracefulShutdown: {
            audit.finish()
        }
    }
}
