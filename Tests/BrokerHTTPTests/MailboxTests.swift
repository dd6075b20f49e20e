@testable import BrokerHTTP
import Testing

@Suite("From an event loop to a task", .timeLimit(.minutes(1)))
struct MailboxTests {
    @Test("In order, what was there before the end included; then nothing, for ever")
    func order() async {
        let mailbox = Mailbox<Int>()
        mailbox.put(1)
        mailbox.put(2)
        mailbox.finish()
        #expect(await mailbox.next() == 1)
        #expect(await mailbox.next() == 2)
        #expect(await mailbox.next() == nil)
        #expect(await mailbox.next() == nil)
    }

    @Test("Whoever waits is woken by an element and by the end")
    func waiting() async {
        let mailbox = Mailbox<Int>()
        let taken = Task {
            var taken: [Int] = []
            while let element = await mailbox.next() { taken.append(element) }
            return taken
        }
        for element in 0..<1000 {
            mailbox.put(element)
            if element % 7 == 0 { await Task.yield() }
        }
        mailbox.finish()
        #expect(await taken.value == Array(0..<1000))
    }

    @Test("It may be dropped, used or not")
    func dropped() {
        _ = Mailbox<Int>()
        Mailbox<Int>().put(1)
    }
}
