import JOSE
import Logging
import StrictCoding

extension ProviderKeys {
    /// Tells the operator what changed. Keys are named by thumbprint: a `kid` is the issuer's free text.
    func report(_ old: KeySnapshot, _ new: KeySnapshot) {
        if let failure = new.failure {
            log(.warning, "key set not refreshed", ["error": "\(failure)", "usable": "\(isReady)"])
            return
        }
        if old.failure != nil { log(.notice, "key set refreshed again", [:]) }
        guard let before = old.current, let now = new.current else {
            log(.info, "key set loaded", ["keys": "\(new.current?.keys.count ?? 0)"])
            return
        }
        // Nobody else may announce a key in the issuer's name: an unplanned one is worth a look.
        for key in now.keys where !before.contains(key) { log(.notice, "key appeared", ["key": name(key)]) }
        for key in before.keys where !now.contains(key) { log(.notice, "key retired", ["key": name(key)]) }
        if now.skipped != before.skipped {
            log(.notice, "unusable keys in key set", ["count": "\(now.skipped.count)"])
        }
    }

    private func log(_ level: Logger.Level, _ message: Logger.Message, _ metadata: Logger.Metadata) {
        logger.log(level: level, message, metadata: metadata.merging(["issuer": "\(issuer)"]) { $1 })
    }

    private func name(_ key: JSONWebKey) -> Logger.MetadataValue { "\(Base64URL.encode(key.thumbprint))" }
}

extension JSONWebKeySet {
    fileprivate func contains(_ key: JSONWebKey) -> Bool { keys.contains { $0.thumbprint == key.thumbprint } }
}
