@testable import HTTPServer
import BrokerTesting
import Testing

@Suite("Unfinished frames on an HTTP/2 connection")
struct FrameProgressTests {
    private static let headers = RawFrame(.headers, flags: 0, stream: 1, [1, 2, 3])
    private static let end = RawFrame(.continuation, flags: RawFrame.endHeaders, stream: 1, [4])

    private func progress(_ octets: [UInt8]) -> (isUnfinished: Bool, finished: Int) {
        var (whole, rest, finished) = (FrameProgress(), octets[...], 0)
        while !rest.isEmpty {
            let (count, isProgress) = whole.scan(rest)
            rest = rest.dropFirst(count)
            finished += isProgress ? 1 : 0
        }
        var pieces = FrameProgress()
        let sum = octets.reduce(0) { sum, octet in sum + (pieces.scan([octet]).isProgress ? 1 : 0) }
        #expect(whole.isUnfinished == pieces.isUnfinished)
        #expect(finished == sum)
        return (whole.isUnfinished, finished)
    }

    @Test(
        "The preface and frames are tracked, however they are split",
        arguments: [
            ([UInt8](), true, 0),
            (RawFrame.preface.dropLast(), true, 0),
            (RawFrame.preface, false, 1),
            (RawFrame.preface + RawFrame(.settings).octets, false, 1),
            (RawFrame.preface + RawFrame(.ping, [UInt8](repeating: 0, count: 8)).octets, false, 2),
            (RawFrame.preface + RawFrame(.ping, [UInt8](repeating: 0, count: 8)).octets.dropLast(), true, 1),
            (RawFrame.preface + [0], true, 1),
            (RawFrame.preface + headers.octets, true, 1),
            (RawFrame.preface + headers.octets + end.octets.dropLast(), true, 1),
            (RawFrame.preface + headers.octets + end.octets, false, 2),
            (RawFrame.preface + RawFrame(.data, stream: 1, [1, 2]).octets.dropLast(), false, 1),
        ] as [([UInt8], Bool, Int)])
    func frames(_ octets: [UInt8], _ isUnfinished: Bool, _ finished: Int) {
        #expect(progress(octets) == (isUnfinished, finished))
    }

    @Test("One frame is tracked at a time")
    func oneByOne() {
        let frames = [Self.headers, Self.end, RawFrame(.settings), RawFrame(.data, stream: 1, [1, 2])]
        var (progress, rest) = (FrameProgress(), RawFrame.preface + frames.flatMap(\.octets))
        var counts: [Int] = []
        while !rest.isEmpty {
            counts.append(progress.scan(rest).count)
            rest.removeFirst(counts.last ?? 0)
        }
        #expect(counts == [RawFrame.preface.count] + frames.map(\.octets.count))
    }
}
