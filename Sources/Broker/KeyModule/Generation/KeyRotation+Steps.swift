public import NativeSSO

extension KeyRotation {
    /// The records as they are after `step` of `record`: that record, and with an activation the one that it retires.
    /// - Parameters:
    ///   - all: Every record of the registry.
    ///   - isForced: Waives the waiting times, for a key that may be compromised; never the order of the states.
    public func records(
        after step: Step, of record: KeyRecord, among all: [KeyRecord], at now: UnixTime, isForced: Bool = false
    ) throws(Refusal) -> [KeyRecord] {
        switch step {
        case .publish:
            guard record.state == .pending else { throw .wrongState(record.state, step) }
            return [record.moved(to: .published, at: now)]
        case .activate:
            guard record.state == .published else { throw .wrongState(record.state, step) }
            let usable = (record.publishedAt ?? record.createdAt).adding(publication)
            guard isForced || usable <= now else { throw .publishedTooShortly(until: usable) }
            let active = all.filter { $0.use == record.use && $0.state == .active }
            return active.map { $0.moved(to: .retired, at: now) } + [record.moved(to: .active, at: now)]
        case .retire:
            guard record.state == .published || record.state == .active else { throw .wrongState(record.state, step) }
            guard record.use != .device else { throw .deviceKey }
            guard isForced || record.state != .active else { throw .onlyActiveKey(record.use) }
            return [record.moved(to: .retired, at: now)]
        case .remove:
            guard record.state != .removed, record.state != .active else { throw .wrongState(record.state, step) }
            guard record.use != .device else { throw .deviceKey }
            if let until = lastUse(of: record), !isForced, now < until { throw .stillInUse(until: until) }
            return [record.moved(to: .removed, at: now)]
        }
    }

    /// When nothing that `record` made can be in use any more; `nil`: it made nothing.
    private func lastUse(of record: KeyRecord) -> UnixTime? {
        guard record.activatedAt != nil, let retiredAt = record.retiredAt else { return nil }
        return retiredAt.adding(record.use == .refreshToken ? refreshTokenLife : signatureLife)
    }
}

extension KeyRecord {
    fileprivate func moved(to state: KeyState, at now: UnixTime) -> KeyRecord {
        KeyRecord(
            kid: kid, use: use, algorithm: algorithm, reference: reference, publicJWK: publicJWK, state: state,
            createdAt: createdAt,
            publishedAt: state == .published ? now : publishedAt,
            activatedAt: state == .active ? now : activatedAt,
            retiredAt: state == .retired ? now : retiredAt,
            removedAt: state == .removed ? now : removedAt)
    }
}
