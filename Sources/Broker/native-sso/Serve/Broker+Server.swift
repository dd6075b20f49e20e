import ArgumentParser
import BrokerHTTP
import HTTPServer
import IdentityProvider
import JOSE
import KeyModule
import Logging
import NativeSSO
import OAuthWire
import Registry

extension Broker {
    /// Builds the listeners and their endpoints.
    var server: BrokerServer {
        let connections = ConnectionCounts()
        let listener = configuration.publicListener
        let metrics = metrics(connections)
        let readiness = Readiness(checks: checks)
        let limiter = RequestLimiter(configuration.limits)
        let clients = ClientIdentification(
            issuer: configuration.issuer, tokenEndpoint: configuration.dpop.tokenEndpoint, directory: snapshot,
            assertions: PostgresAssertionRegister(database: databaseTimes.measuring(.assertion, on: lanes)),
            limiter: limiter, clock: clock, logger: logger)
        let logout = logoutEndpoint(metrics, limiter)
        let movesLogout = configuration.backchannel?.takesLogouts == true
        var addresses = BrokerServer.Configuration(publicLimits: listener.limits)
        addresses.publicAddress = listener.listen.socketAddress
        addresses.internalAddress = configuration.internalListener.listen.socketAddress
        addresses.trustedProxies = listener.trustedProxies
        (addresses.publicIdentity, addresses.internalIdentity) = (tls[0], tls[1])
        addresses.metricsAddress = configuration.metrics?.listen.socketAddress
        return BrokerServer(
            configuration: addresses, tokenEndpoint: tokenEndpoint(clients, metrics, limiter),
            internalEndpoint: InternalEndpoint(
                readiness: readiness, keys: PublishedKeyRing(ring: ring),
                metadata: ServerMetadata(configuration),
                authorizationEndpoint: authorizationEndpoint, directory: snapshot,
                metrics: metrics, logout: movesLogout ? nil : logout, clock: clock, logger: logger),
            backchannel: configuration.backchannel.map { backchannel in
                BrokerServer.Backchannel(
                    endpoint: backchannelEndpoint(
                        backchannel, movesLogout ? logout : nil, securityEvents(backchannel, metrics, limiter), clients,
                        metrics, limiter),
                    address: backchannel.listener.listen.socketAddress, limits: backchannel.listener.limits,
                    trustedProxies: backchannel.listener.trustedProxies, identity: tls[2])
            },
            readiness: readiness, clock: clock, connections: connections,
            admitsHandshake: { limiter.admits(handshakeFrom: $0) }, logger: logger
        ) { [logger, manager, backchannel = configuration.backchannel] ports in
            manager?.send(ServiceManager.ready)
            var metadata: Logger.Metadata = [
                "internal": .stringConvertible(ports.internal), "tls": .stringConvertible(listener.tls != nil),
            ]
            if let port = ports.metrics { metadata["metrics"] = .stringConvertible(port) }
            metadata["public"] = listener.listen.bound(to: ports.public)
            if let port = ports.backchannel, let listen = backchannel?.listener.listen {
                metadata["backchannel"] = listen.bound(to: port)
            }
            logger.notice("listening", metadata: metadata)
        }
    }

    func metrics(_ connections: ConnectionCounts) -> BrokerMetrics {
        BrokerMetrics(
            sources: [
                ConnectionReport(lanes: lanes, pool: pool, sink: .standardError), connections, commits,
                DirectoryCheck(snapshot: snapshot), KeyCheck(ring: ring),
                KeySetReport(
                    providers: providers.map(\.keys), events: eventKeys.compactMap(\.events),
                    revocations: eventKeys.compactMap(\.revocations)),
                CertificateExpiry(tls.compactMap(\.self)),
                ProcessReport(version: NativeSSOCommand.configuration.version, startedAt: startedAt),
                databaseTimes, SignatureReport(ring: ring), registrySize, sweep,
                SuspensionReport(snapshot: snapshot, providers: providers.map(\.configuration.issuer)),
                AuditReport(trail: audit, lost: lostAuditEvents),
                RelayReport(
                    slots: relaySlots,
                    relays: providers.compactMap { provider in
                        provider.configuration.codeRelay.map { (provider.configuration.issuer, $0.policy.atOnce) }
                    }),
            ])
    }

    private func tokenEndpoint(
        _ clients: ClientIdentification, _ metrics: BrokerMetrics, _ limiter: RequestLimiter
    ) -> TokenEndpoint {
        let registry = PostgresGrantRegistry(
            exchanges: databaseTimes.measuring(.exchange, on: lanes),
            refreshes: databaseTimes.measuring(.refresh, on: lanes))
        let lifetimes = configuration.lifetimes
        let mint = TokenMint(
            issuer: configuration.issuer, signer: ring, refreshTokens: ring, lifetimes: lifetimes,
            subjects: configuration.subjects)
        let idTokens = IDTokenValidator(
            providers.map {
                IDTokenValidator.Provider(keys: $0.keys, algorithms: Set($0.configuration.algorithms))
            }, subjects: configuration.subjects, enrolled: enrolledIDTokens)
        let enrolment = Enrolment(
            idTokens: idTokens,
            registry: PostgresEnrolmentRegistry(
                database: databaseTimes.measuring(.enrolment, on: shared),
                atOnce: max(configuration.database.pool / 8, 1)),
            devices: ring, limits: limiter, mint: mint, clock: clock)
        let exchange = Exchange(
            idTokens: idTokens, registry: registry, directory: snapshot, devices: ring, limits: limiter, mint: mint,
            lifetimes: lifetimes, clock: clock)
        let issuers = providers.map(\.configuration.policy) + [configuration.enrolledPolicy].compactMap(\.self)
        return TokenEndpoint(
            exchange: exchange,
            refresh: Refresh(registry: registry, limits: limiter, mint: mint, lifetimes: lifetimes),
            handoff: WebHandoff(
                exchange: exchange,
                registry: PostgresHandoffRegistry(
                    database: databaseTimes.measuring(.handoff, on: shared),
                    atOnce: max(configuration.database.pool / 8, 1)),
                records: ring, issuers: issuers),
            enrolment: configuration.enrolsByExchange ? enrolment : nil, codes: codeEnrolment(enrolment),
            clients: clients, proofs: proofs, limiter: limiter, logins: ProviderLogins(providers: providers),
            issuers: issuers + configuration.identityProviders.map(\.policy).filter(\.isDisabled),
            certainty: commits.certainty,
            audit: audit, metrics: metrics, clock: clock, logger: logger)
    }

    /// `nil` if no IdP has a code relay.
    private func codeEnrolment(_ enrolment: Enrolment) -> CodeEnrolment? {
        let relayed = providers.compactMap { provider -> ProviderCodeRelay.Provider? in
            guard let relay = provider.configuration.codeRelay, let http = codes[provider.configuration.issuer] else {
                return nil
            }
            return ProviderCodeRelay.Provider(
                keys: provider.keys, tokenEndpoint: relay.tokenEndpoint,
                revocationEndpoint: relay.revocationEndpoint,
                secret: relay.secret, secrets: relay.secrets,
                timeout: .seconds(relay.policy.timeout.count), over: http)
        }
        guard !relayed.isEmpty else { return nil }
        return CodeEnrolment(
            relay: ProviderCodeRelay(relayed),
            register: PostgresCodeRegister(
                database: databaseTimes.measuring(.code, on: shared), claims: max(configuration.database.pool / 8, 1),
                settlements: max(configuration.database.pool / 4, 1)),
            records: ring, enrolment: enrolment, audit: audit, clock: clock, pending: pendingCodes, slots: relaySlots)
    }

    private var proofs: ProofVerifier {
        let dpop = configuration.dpop
        let nonces = dpop.nonce == .required ? ProofNonces(keys: ring, life: dpop.nonceLifetime) : nil
        return ProofVerifier(target: dpop.target, nonces: nonces, clock: clock)
    }

    private func logoutEndpoint(_ metrics: BrokerMetrics, _ limiter: RequestLimiter) -> LogoutEndpoint {
        let tokens = LogoutTokenValidator(
            providers.map { provider, keys in
                TrustedSigner(
                    issuer: provider.issuer, keys: keys, algorithms: Set(provider.algorithms), policy: provider.logout)
            })
        let policies = providers.map { ($0.configuration.issuer, $0.configuration.logout) }
        return LogoutEndpoint(
            logout: Logout(
                tokens: tokens, registry: logouts,
                directory: snapshot, policies: Dictionary(policies) { first, _ in first }, clock: clock),
            limiter: limiter, certainty: commits.certainty, audit: audit, metrics: metrics, clock: clock, logger: logger
        )
    }

    private func securityEvents(
        _ backchannel: Configuration.Backchannel, _ metrics: BrokerMetrics, _ limiter: RequestLimiter
    ) -> SecurityEventEndpoint? {
        guard backchannel.takesEvents || backchannel.takesRevocations else { return nil }
        func signers(
            _ source: KeyPath<Configuration.IdentityProvider, Configuration.EventSource?>,
            _ keys: KeyPath<EventKeys, ProviderKeys?>, standard: String
        ) -> [TrustedSigner<EventPolicy>] {
            zip(providers, eventKeys).compactMap { provider, own in
                guard let source = provider.configuration[keyPath: source] else { return nil }
                return TrustedSigner(
                    issuer: source.issuer, keys: own[keyPath: keys] ?? provider.keys,
                    algorithms: Set(provider.configuration.algorithms),
                    policy: EventPolicy(
                        provider: provider.configuration.issuer,
                        audiences: source.audiences.isEmpty ? [standard] : source.audiences,
                        reach: provider.configuration.logout.reach))
            }
        }
        let verifier = SecurityEventValidator(
            events: signers(\.securityEvents, \.events, standard: configuration.issuer.string),
            revocations: signers(
                \.globalTokenRevocation, \.revocations,
                standard: backchannel.url + SecurityEventEndpoint.revocationPath))
        return SecurityEventEndpoint(
            events: SecurityEvents(verifier: verifier, registry: logouts, clock: clock),
            takesEvents: backchannel.takesEvents, takesRevocations: backchannel.takesRevocations, limiter: limiter,
            certainty: commits.certainty, metrics: metrics)
    }

    private func backchannelEndpoint(
        _ backchannel: Configuration.Backchannel, _ logout: LogoutEndpoint?, _ events: SecurityEventEndpoint?,
        _ clients: ClientIdentification, _ metrics: BrokerMetrics, _ limiter: RequestLimiter
    ) -> BackchannelEndpoint {
        let registry = PostgresRevocationRegistry(
            database: databaseTimes.measuring(.revocation, on: shared), atOnce: max(configuration.database.pool / 4, 1))
        return BackchannelEndpoint(
            revocation: backchannel.revokes
                ? Revocation(
                    registry: registry, refreshTokens: ring, devices: ring, limits: limiter,
                    issuers: providers.map(\.configuration.issuer)) : nil,
            introspection: backchannel.introspects
                ? Introspection(
                    issuer: configuration.issuer, algorithms: Self.signatureAlgorithms, key: verificationKey,
                    registry: registry, idle: configuration.sessions.idle, clock: clock) : nil,
            logout: logout, events: events, clients: clients, certainty: commits.certainty, audit: audit,
            metrics: metrics, clock: clock, logger: logger)
    }

    /// The broker's own id_tokens from enrolments, accepted as subject tokens.
    private var enrolledIDTokens: EnrolledIDTokens? {
        configuration.enrolledPolicy.map { policy in
            EnrolledIDTokens(issuer: policy.issuer, algorithms: Self.signatureAlgorithms, key: verificationKey)
        }
    }

    /// Of the broker's own signatures.
    private static let signatureAlgorithms = Set(
        KeyAlgorithm.signing.compactMap { SignatureAlgorithm(name: $0.rawValue) })

    private var verificationKey: @Sendable (JOSEHeader) -> Pending<Result<JSONWebKey, JWSError>, PortError> {
        { [ring] header in ring.verificationKey(for: header) }
    }

    var checks: [any ReadinessCheck] {
        [DatabaseCheck(database: lanes), commits, DirectoryCheck(snapshot: snapshot), KeyCheck(ring: ring), serving]
            + providers.map { IdentityProviderCheck(keys: $0.keys) }
    }
}

extension ServerMetadata {
    /// The broker's public metadata, based on its issuer, not on its listen addresses. Without scopes and login.
    init(_ configuration: Configuration) {
        let base = configuration.issuer.withoutTrailingSlash
        let backchannel = configuration.backchannel
        self.init(
            issuer: configuration.issuer, tokenEndpoint: configuration.dpop.tokenEndpoint,
            keySetURI: base + "/.well-known/jwks.json",
            signingAlgorithms: KeyAlgorithm.signing.map(\.rawValue),
            relaysCodes: configuration.identityProviders.contains { !$0.isDisabled && $0.codeRelay != nil },
            revocationEndpoint: backchannel.flatMap {
                $0.revokes ? $0.url + BackchannelEndpoint.revocationPath : nil
            },
            introspectionEndpoint: backchannel.flatMap {
                $0.introspects ? $0.url + BackchannelEndpoint.introspectionPath : nil
            },
            globalTokenRevocationEndpoint: backchannel.flatMap {
                $0.takesRevocations ? $0.url + SecurityEventEndpoint.revocationPath : nil
            })
    }
}

extension Broker {
    /// For the metadata.
    private var authorizationEndpoint: @Sendable () -> String? {
        { [configuration, providers] in
            configuration.advertisedLogin.endpoint(
                providers.filter { $0.configuration.codeRelay != nil }.map {
                    AdvertisedLogin.Relay(
                        issuer: $0.configuration.issuer,
                        endpoint: $0.configuration.authorizationEndpoint ?? $0.keys.authorizationEndpoint,
                        sendsIssuer: $0.keys.sendsIssuer)
                })
        }
    }
}

extension Configuration.PublicListener {
    fileprivate var limits: ListenerLimits {
        ListenerLimits(
            connections: maximumConnections, connectionsPerAddress: maximumConnectionsPerAddress,
            bufferedOctets: maximumBufferedMiB << 20)
    }
}

extension PublicAddress {
    /// What the log says of the bound listener: its port, or its socket.
    fileprivate func bound(to port: Int) -> Logger.MetadataValue {
        internet == nil ? .stringConvertible(self) : .stringConvertible(port)
    }

    fileprivate var socketAddress: ListenerAddress {
        switch self {
        case .host(let address): address.socketAddress
        case .unixSocket(let path): .unixSocket(path)
        case .systemd: .inherited(InheritedSocket.descriptor)
        }
    }
}

extension ListenAddress {
    fileprivate var socketAddress: ListenerAddress { ListenerAddress(host: host, port: port) }
}

/// The authorization endpoint of each IdP: from the configuration, or else from discovery.
struct ProviderLogins: LoginDirectory {
    let providers: [(configuration: Configuration.IdentityProvider, keys: ProviderKeys)]

    func authorizationEndpoint(of issuer: Issuer) -> String? {
        guard let provider = providers.first(where: { $0.configuration.issuer == issuer }) else { return nil }
        return provider.configuration.authorizationEndpoint ?? provider.keys.authorizationEndpoint
    }
}

/// The key ring for the internal listener.
struct PublishedKeyRing: PublishedKeys {
    let ring: KeyRing

    func keySet() async throws(PortError) -> [UInt8] {
        guard let keys = ring.current else { throw .outage(Outage(.keyModule, "no keys were loaded yet")) }
        return keys.jwks
    }

    /// Much shorter than the time for which a key is published before it signs.
    let maximumAge: Seconds = .minutes(5)
}
