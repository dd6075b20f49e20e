import HTTPServer
package import Logging
import NIOHTTP1
package import NativeSSO
import OAuthWire
import StrictCoding
import Synchronization

/// The internal listener: what operators, monitors and resource servers ask, where query strings are ignored, and what the
/// identity providers tell.
///
/// Whatever is not answered with what was asked for has an `X-Request-Id` and a line in the log: a logout that did not even
/// reach its path must not be lost without a trace.
package struct InternalEndpoint: Sendable {
    private let readiness: Readiness
    private let keys: any PublishedKeys
    private let metadata: [UInt8]
    private let metrics: BrokerMetrics
    private let logout: LogoutEndpoint
    private let journal: InternalJournal
    private let clock: any WallClock

    package init(
        readiness: Readiness, keys: any PublishedKeys, metadata: ServerMetadata, metrics: BrokerMetrics,
        logout: LogoutEndpoint, clock: any WallClock, logger: Logger
    ) {
        self.readiness = readiness
        self.keys = keys
        self.metadata = metadata.json
        self.metrics = metrics
        self.logout = logout
        self.clock = clock
        journal = InternalJournal(metrics: metrics, logger: logger)
    }
}

extension InternalEndpoint: Responder {
    func answer(_ arrival: Arrival) async -> HTTPAnswer {
        switch arrival {
        case .fault(.method, from: _): refused(.wire(.method), Self.methodNotAllowed("GET, POST"))
        case .fault(let fault, from: _): refused(.wire(fault))
        case .request(let request):
            if request.isFor(LogoutEndpoint.path) {
                await logout.answer(request)
            } else if let route = Route.allCases.first(where: { request.isFor($0.rawValue) }) {
                request.method == .GET
                    ? await answer(route) : refused(.request(.method), Self.methodNotAllowed("GET"))
            } else {
                refused(.request(.unknownPath))
            }
        }
    }

    /// - Parameter answer: Where it is another than on the public listener.
    private func refused(_ refusal: Refusal, _ answer: RefusalAnswer? = nil) -> HTTPAnswer {
        let record = RequestRecord.new(clock)
        var answer = HTTPAnswer(answer ?? refusal.answer)
        answer.headers.append(("X-Request-Id", record.requestID.description))
        journal.refused(record, refusal, status: answer.status)
        return answer
    }

    private enum Route: String, CaseIterable {
        case liveness = "/livez"
        case readiness = "/readyz"
        case metrics = "/metrics"
        case keySet = "/.well-known/jwks.json"
        case authorizationServer = "/.well-known/oauth-authorization-server"
        case openIDConfiguration = "/.well-known/openid-configuration"
    }

    private func answer(_ route: Route) async -> HTTPAnswer {
        switch route {
        case .liveness: HTTPAnswer(status: .ok, body: Array(#"{"status":"live"}"#.utf8))
        case .readiness: HTTPAnswer(await readiness.report())
        case .metrics:
            HTTPAnswer(status: .ok, contentType: PrometheusText.contentType, body: Array(metrics.text.utf8))
        case .keySet: await keySet()
        case .authorizationServer, .openIDConfiguration:
            HTTPAnswer(status: .ok, cacheControl: cacheControl, body: metadata)
        }
    }

    private func keySet() async -> HTTPAnswer {
        do throws(PortError) {
            return HTTPAnswer(status: .ok, cacheControl: cacheControl, body: try await keys.keySet())
        } catch {
            switch error {
            case .outage: return .unavailable
            case .broken: return .failed
            }
        }
    }

    private var cacheControl: String { "public, max-age=\(keys.maximumAge.count)" }

    private static func methodNotAllowed(_ allowed: String) -> RefusalAnswer {
        .invalidRequest("The method is not allowed here.", .methodNotAllowed, headers: [("Allow", allowed)])
    }
}

extension HTTPAnswer {
    fileprivate init(_ report: Readiness.Report) {
        var json = JSONWriter()
        json.object { json in
            json.member("status", report.isReady ? "ready" : "unready")
            json.member(
                "checks",
                array: { json in
                    for result in report.results {
                        json.object { json in
                            json.member("name", result.name)
                            json.member("status", result.problem == nil ? "ok" : "failed")
                            if let problem = result.problem { json.member("reason", problem.description) }
                        }
                    }
                })
        }
        self.init(status: report.isReady ? .ok : .serviceUnavailable, body: json.bytes)
    }
}

/// One line in the log and a count in the metrics for every request to the internal listener that never became what is served
/// there. None in the audit, as on the public listener: nothing was asked that could be refused for what it is.
struct InternalJournal: Sendable {
    let metrics: BrokerMetrics
    let logger: Logger

    func refused(_ record: RequestRecord, _ refusal: Refusal, status: HTTPResponseStatus) {
        metrics.internalRequestRefused(refusal)
        logger.notice(
            "internal request",
            metadata: [
                "request_id": .string(record.requestID.description),
                "outcome": .string(OutcomeLabel.refused.rawValue),
                "reason": .string(refusal.reason),
                "status": .stringConvertible(Int(status.code)),
                "duration_us": .stringConvertible(Int((ContinuousClock.now - record.start).microseconds)),
            ])
    }
}

/// The public keys that verify what this broker signs.
package protocol PublishedKeys: Sendable {
    /// A JWK Set as JSON. RFC 7517 §5.
    func keySet() async throws(PortError) -> [UInt8]

    /// How long others may keep it. A new key is published for longer than this before it signs.
    var maximumAge: Seconds { get }
}

/// One thing that must be so before this process should get requests.
package protocol ReadinessCheck: Sendable {
    /// For the reader of `/readyz`: a component, or an issuer from the configuration.
    var name: String { get }

    /// What it checks, and the reasons that it may give: sentences for the guide.
    var help: StaticString { get }

    /// `nil`: it is so. Otherwise a reason code. Answers from what is known or within about a second: the caller waits.
    func problem() async -> StaticString?
}

/// Whether this process should get requests: every check passes, and it is not about to stop.
package final class Readiness: Sendable {
    private let checks: [any ReadinessCheck]
    private let isDraining = Atomic(false)

    package init(checks: [any ReadinessCheck]) {
        self.checks = checks
    }

    /// From now on not ready, whatever the checks say. First step of a stop, so that a load balancer looks elsewhere.
    func drain() { isDraining.store(true, ordering: .releasing) }

    struct Report: Sendable {
        /// In the order in which they were given.
        let results: [(name: String, problem: StaticString?)]
        var isReady: Bool { results.allSatisfy { $0.problem == nil } }
    }

    func report() async -> Report {
        var results: [(name: String, problem: StaticString?)] = []
        for check in checks { results.append((check.name, await check.problem())) }
        if isDraining.load(ordering: .acquiring) { results.append(("process", "draining")) }
        return Report(results: results)
    }
}
