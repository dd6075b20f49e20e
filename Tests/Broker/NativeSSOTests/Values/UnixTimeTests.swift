import NativeSSO
import Testing

@Suite struct UnixTimeTests {
    private let epoch = UnixTime(seconds: 0)
    private let first = UnixTime(seconds: .min)
    private let last = UnixTime(seconds: .max)

    @Test func addsAndSubtracts() {
        let now = UnixTime(seconds: 1_795_000_000)
        #expect(now.adding(300).seconds == 1_795_000_300)
        #expect(now.adding(-300).seconds == 1_794_999_700)
        #expect(now.since(UnixTime(seconds: 1_794_999_999)) == 1)
        #expect(now.since(UnixTime(seconds: 1_795_000_001)) == -1)
    }

    @Test func sumsSaturate() {
        #expect(last.adding(1) == last)
        #expect(last.adding(Seconds(.max)) == last)
        #expect(first.adding(-1) == first)
        #expect(first.adding(Seconds(.min)) == first)
        #expect(last.adding(-1).seconds == .max - 1)
        #expect(first.adding(Seconds(.max)).seconds == -1)
    }

    @Test func differencesSaturate() {
        #expect(last.since(first).count == .max)
        #expect(first.since(last).count == .min)
        #expect(epoch.since(first).count == .max)
        #expect(UnixTime(seconds: -1).since(first).count == .max)
        #expect(UnixTime(seconds: -2).since(last).count == .min)
        #expect(epoch.since(last).count == -.max)
    }

    @Test func spansSaturate() {
        #expect(Seconds.minutes(5) == 300)
        #expect(Seconds.hours(2) == 7200)
        #expect(Seconds.days(90) == 7_776_000)
        #expect(Seconds.days(.max).count == .max)
        #expect(Seconds.hours(.min).count == .min)
    }

    @Test func isOrderedAndPrints() {
        #expect(first < epoch && epoch < last)
        #expect(Seconds(9) < Seconds(10))
        #expect(UnixTime(seconds: 1_795_000_000).description == "1795000000")
        #expect(Seconds(300).description == "300s")
    }
}
