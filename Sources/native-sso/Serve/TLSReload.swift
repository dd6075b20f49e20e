import BrokerHTTP
import Logging
import NativeSSO

/// Reads certificate and key again. Present connections keep what they have; files that are wrong change nothing.
struct TLSReload: Sendable {
    let files: TLSFiles
    let current: CurrentTLSIdentity
    let clock: SystemClock
    let logger: Logger

    func readAgain() {
        do throws(ValueDefect) {
            let identity = try files.read()
            current.replace(by: identity)
            logger.notice(
                "certificate was read again", metadata: ["not_after": .string(identity.notAfter.rfc3339)])
            if let doubt = TLSFiles.doubt(about: identity, at: clock.now) {
                logger.warning("certificate is doubtful", metadata: ["problem": .string(doubt)])
            }
        } catch {
            logger.error(
                "certificate was not read again; the present one stays in use",
                metadata: ["problem": .string(error.message)])
        }
    }
}
