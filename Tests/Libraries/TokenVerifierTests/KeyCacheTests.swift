import BrokerTesting
import JOSE
import Testing
import TokenVerifier

/// When keys are loaded, and how long they serve.
@Suite struct KeyCacheTests {
    private let a = Result { try TestKey(.es256, keyID: "a") }
    private let b = Result { try TestKey(.es256, keyID: "b") }

    private func loaded(_ resource: Resource, times count: Int) async {
        var began = resource.loader.began.stream.makeAsyncIterator()
        for _ in 0..<count { await began.next() }
    }

    @Test func requestsAtTheStartShareOneLoad() async throws {
        let resource = Resource()
        let token = try resource.token(try a.get())
        try resource.loader.answer([try a.get()])
        await withTaskGroup { group in
            for _ in 0..<50 { group.addTask { await resource.refusal(token) } }
            for await refusal in group { #expect(refusal == nil) }
        }
        // It serves all later ones, too.
        #expect(await resource.refusal(token) == nil)
        #expect(resource.loader.count == 1)
    }

    @Test func withoutKeysThereIsNoRefusal() async throws {
        let resource = Resource()
        let a = try a.get()
        #expect(await resource.refusal(try resource.token(a)) == VerificationError(.keysUnavailable))
        #expect(await resource.refusal(try resource.token(a)) == VerificationError(.keysUnavailable))
        #expect(resource.loader.count == 1)
        try resource.loader.answer([a])
        resource.clock.advance(by: .seconds(30))
        #expect(await resource.refusal(try resource.token(a)) == nil)
    }

    @Test func anAgedSetIsReplacedInTheBackground() async throws {
        let resource = Resource()
        let (a, b) = (try a.get(), try b.get())
        try resource.loader.answer([a])
        #expect(await resource.refusal(try resource.token(a)) == nil)
        resource.clock.advance(by: .seconds(3600))
        #expect(await resource.refusal(try resource.token(a)) == nil)
        #expect(resource.loader.count == 1)
        try resource.loader.answer([b])
        resource.clock.advance(by: .seconds(1))
        #expect(await resource.refusal(try resource.token(a)) == nil)  // answered with what was there
        await loaded(resource, times: 2)
        #expect(await resource.refusal(try resource.token(b)) == nil)  // joins that load
        #expect(await resource.refusal(try resource.token(a)) == VerificationError(.unknownKey))  // withdrawn is gone
        #expect(resource.loader.count == 2)
    }

    @Test func aShorterMaximumAgeCounts() async throws {
        let resource = Resource()
        let a = try a.get()
        try resource.loader.answer([a], maximumAge: .seconds(60))
        #expect(await resource.refusal(try resource.token(a)) == nil)
        resource.clock.advance(by: .seconds(61))
        #expect(await resource.refusal(try resource.token(a)) == nil)
        await loaded(resource, times: 2)
        // But never in less than the cool-down.
        let impatient = Resource()
        try impatient.loader.answer([a], maximumAge: .zero)
        for _ in 0..<29 {
            #expect(await impatient.refusal(try impatient.token(a)) == nil)
            impatient.clock.advance(by: .seconds(1))
        }
        #expect(impatient.loader.count == 1)
    }

    @Test func floodOfUnknownKeys() async throws {
        let resource = Resource()
        let a = try a.get()
        try resource.loader.answer([a])
        #expect(await resource.refusal(try resource.token(a)) == nil)
        for second in 0..<90 {
            let stranger = try a.renamed("unknown-\(second)")
            #expect(await resource.refusal(try resource.token(stranger)) == VerificationError(.unknownKey))
            #expect(await resource.refusal(try resource.token(a)) == nil)
            resource.clock.advance(by: .seconds(1))
        }
        #expect(resource.loader.count == 3)
    }

    @Test func firstTokenOfANewKey() async throws {
        let resource = Resource()
        let (a, b) = (try a.get(), try b.get())
        try resource.loader.answer([a])
        #expect(await resource.refusal(try resource.token(a)) == nil)
        resource.clock.advance(by: .seconds(30))
        try resource.loader.answer([a, b])
        #expect(await resource.refusal(try resource.token(b)) == nil)
        #expect(resource.loader.count == 2)
    }

    @Test(arguments: [nil, "<html>", "{}", #"{"keys":null}"#, #"{"keys":[]}"#])
    func failuresKeepTheKnownKeysForADay(garbage: String?) async throws {
        let resource = Resource()
        let (a, b) = (try a.get(), try b.get())
        try resource.loader.answer([a])
        #expect(await resource.refusal(try resource.token(a)) == nil)
        if let garbage { resource.loader.answer(garbage: garbage) } else { resource.loader.fail() }
        resource.clock.advance(by: .seconds(7200))
        #expect(await resource.refusal(try resource.token(a)) == nil)
        var failures = resource.failures.stream.makeAsyncIterator()
        await failures.next()
        #expect(await resource.refusal(try resource.token(a)) == nil)
        // It may be the issuer's new key; who knows.
        #expect(await resource.refusal(try resource.token(b)) == VerificationError(.keysUnavailable))
        resource.clock.advance(by: .seconds(22 * 3600))
        #expect(await resource.refusal(try resource.token(a)) == nil)
        resource.clock.advance(by: .seconds(1))
        #expect(await resource.refusal(try resource.token(a)) == VerificationError(.keysUnavailable))
    }

    @Test func aLoadThatHangsIsGivenUp() async throws {
        let resource = Resource()
        let a = try a.get()
        resource.loader.hang()
        async let refusal = resource.refusal(try resource.token(a))
        await loaded(resource, times: 1)
        while true {  // the sleep of the timeout begins beside the load, in no certain order
            resource.clock.advance(by: .seconds(5))
            if resource.hasFailed() { break }
            await Task.yield()
        }
        #expect(try await refusal == VerificationError(.keysUnavailable))
    }

    @Test(
        arguments: [
            (nil, nil), ("max-age=60", .seconds(60)), ("public, Max-Age=60, must-revalidate", .seconds(60)),
            ("no-store", .zero),
            ("max-age=60, no-cache", .zero), ("no-cache, max-age=60", .zero), ("max-age=-1", nil), ("max-age=x", nil),
            ("max-age", nil),
            ("max-age=99999999999999999999", nil), ("", nil), (",=,", nil), ("s-maxage=9", nil),
        ] as [(String?, Duration?)])
    func cacheControl(field: String?, age: Duration?) {
        #expect(KeySetDocument(octets: [], cacheControl: field).maximumAge == age)
    }
}
