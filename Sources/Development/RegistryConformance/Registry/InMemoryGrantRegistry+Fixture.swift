package import NativeSSO
import Synchronization

extension InMemoryGrantRegistry: GrantRegistryFixture {
    package var registry: any GrantRegistry { self }
    package var handoffs: any HandoffRegistry { self }

    package func put(client: ClientID, isEnabled: Bool) {
        state.withLock { $0.clientIsEnabled[client] = isEnabled }
    }

    package func put(_ member: MemberRow) {
        let key = RegistryState.Member(issuer: member.issuer, client: member.client)
        state.withLock { $0.members[key] = member.membership }
    }

    package func removeMember(_ client: ClientID, at issuer: Issuer) {
        state.withLock { $0.members[RegistryState.Member(issuer: issuer, client: client)] = nil }
    }

    package func put(_ session: SessionRow) {
        state.withLock { state in
            var row = RegistryState.Session(
                issuer: session.issuer, sid: session.sid.digest, subject: session.subject,
                hasAuthTime: session.login.authenticatedAt != nil, expiresAt: state.now.adding(session.expiresIn),
                lastUsedAt: state.now.before(session.lastUsed), iatAfter: session.iatAfter,
                authTimeAfter: session.authTimeAfter)
            if session.isEnded {
                row.endedAt = state.now
                if row.iatAfter == nil && row.authTimeAfter == nil { row.authTimeAfter = state.now }
            }
            state.sessions[session.id] = row
        }
    }

    package func put(_ device: DeviceRow) {
        let key = RegistryState.Device(issuer: device.issuer, digest: device.digest)
        state.withLock { state in
            state.knownDevices.insert(key)
            state.blockedDevices.remove(key)
            if device.isBlocked { state.blockedDevices.insert(key) }
            for (client, bound) in device.pins {
                state.boundKeys[RegistryState.Place(device: key, client: client)] = bound
            }
        }
    }

    package func disable(_ subject: Subject, of issuer: Issuer) {
        state.withLock { _ = $0.disabledAccounts.insert([issuer.string, subject.string]) }
    }

    package func put(_ grant: GrantRow) throws {
        try state.withLock { state in
            guard state.sessions[grant.session] != nil else { throw PortError.broken("a grant needs its session") }
            state.families[grant.id] = RegistryState.TokenFamily(
                session: grant.session, client: grant.client, sourceClient: grant.sourceClient, device: grant.device,
                generation: grant.generation, exchangedGeneration: grant.exchangedGeneration,
                keylessBefore: grant.keylessBefore,
                spent: grant.spent,
                rotatedAt: state.now.before(grant.rotated),
                revokedAt: grant.isRevoked ? state.now : nil, wasReplayed: grant.isRevoked && grant.wasReplayed,
                cameLate: grant.isRevoked && grant.cameLate && !grant.wasReplayed,
                expiresAt: state.now.adding(grant.expiresIn),
                scope: grant.scope, audiences: grant.audiences, login: grant.login, claims: grant.claims, key: grant.key
            )
        }
    }

    package func put(_ used: ProofID) {
        state.withLock { _ = $0.usedProofs.insert(used) }
    }

    package func put(_ used: AssertionID) {
        state.withLock { $0.usedAssertions[used] = $0.now.adding(60) }
    }

    package func endSession(_ id: UniqueID) {
        state.withLock { state in
            guard let session = state.sessions[id], session.endedAt == nil else { return }
            state.sessions[id]?.endedAt = state.now
            state.sessions[id]?.authTimeAfter = max(session.authTimeAfter ?? state.now, state.now)
            state.auditRows += 1
        }
    }

    package func passHandoffLife() {
        state.withLock { state in
            for code in state.handoffs.keys { state.handoffs[code]?.expiresAt = state.now }
        }
    }

    package func counts() -> RegistryCounts {
        state.withLock { state in
            RegistryCounts(
                sessions: state.sessions.count, grants: state.families.count,
                liveGrants: state.families.values.count { $0.revokedAt == nil },
                devices: state.knownDevices.count, auditRows: state.auditRows,
                usedProofs: state.usedProofs.count + state.usedAssertions.count)
        }
    }

    package func digestOfState() -> String {
        state.withLock { state in
            let rows =
                state.clientIsEnabled.map { "client \($0)" } + state.members.map { "member \($0)" }
                + state.knownDevices.map { "device \($0)" }
                + state.blockedDevices.map { "blocked \($0)" } + state.sessions.map { "session \($0)" }
                + state.handoffs.map { "handoff \($0.key) \($0.value.expiresAt) \($0.value.isRedeemed)" }
                + state.families.map { "grant \($0)" } + state.boundKeys.map { "key \($0)" }
            return rows.sorted().joined(separator: "\n")
        }
    }
}

extension UnixTime {
    package func before(_ span: Seconds) -> UnixTime { UnixTime(seconds: seconds - span.count) }
}
